/**
 * Is enough of its body here? Only then a member is chosen for it and a connection taken: a client that sends the head, one byte and then
 * nothing costs the gateway those bytes, and nobody else a connection. A body that is larger than what is kept of it goes on from there as
 * it comes; one that waits for `100 Continue` is the member's to ask for. Where nothing is to be kept, nothing is waited for.
 */
import type { Answer } from '../../service/service.ts';
import type { Passage, Step } from '../passage.ts';
import { RepeatableBody } from '../upstream/repeatable-body.ts';

// As little as can be configured.
const leastBytes = 1;

export function receive(passage: Passage): Answer<Step> {
  const { exchange } = passage;
  const { config, collecting } = passage.route!.pool;
  const body = new RepeatableBody(exchange.body, exchange.framing, config.retries.bodyBytes);
  passage.body = body;
  if (body.isNone || exchange.expectsContinue || config.retries.bodyBytes <= leastBytes) return 'next';
  return new Promise((resolve) => {
    body.collect(collecting, () => resolve(received(passage, body)));
    exchange.whenGone(() => body.stopCollecting());
  });
}

function received({ admitted, exchange }: Passage, body: RepeatableBody): Step {
  // The front has told the client why, or there is nobody to be told.
  if (body.hasFailed || exchange.isGone) return 'report';
  // What it took until here was up to the client.
  admitted?.measureAnew();
  return 'next';
}
