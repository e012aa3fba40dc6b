/**
 * The commands of our own:
 *
 *      SLUICE.CHECK rule key [COST n] [ID request]                                     a configured rule
 *      SLUICE.POLICY key algorithm limit windowMs [BURST n] [COST n]                   a policy that comes with the call
 *
 *      reply  [ allowed 1|0, limit, remaining, retryAfterMs, resetAfterMs, rule ]      -1: waiting never helps
 *
 * A rule with tiers is asked as for a subject without a tier.
 */
import { type Decision, type Policy, parsePolicy } from 'sluice';
import type { Service } from '../../service/service.ts';
import type { Command } from '../command.ts';
import { CommandError, syntaxError } from '../error-reply.ts';
import type { ReplyWriter } from '../reply-writer.ts';
import type { Turn } from '../turn.ts';

// The reply has no place for "yes, but later", and clients know it as it is. Whoever cannot be told to wait must not be let through early,
// so what a shaping policy would delay is refused, and retryAfterMs says when it is its turn.
const maxDelayMs = 0;

export function checkCommand(service: Pick<Service, 'checkRule'>): Command {
  return {
    name: 'sluice.check',
    arity: -3,
    summary: 'Asks a configured rule about a key.',
    group: 'module',
    keyAt: 2,
    run(turn) {
      const rule = turn.key(1, 'rule');
      const key = turn.key(2);
      let cost: number | undefined;
      let requestId: string | undefined;
      for (let i = 3; i < turn.count; i += 2) {
        if (i + 1 === turn.count) throw syntaxError();
        if (turn.is(i, 'cost')) cost = turn.number(i + 1, 'COST');
        else if (turn.is(i, 'id')) requestId = turn.key(i + 1, 'ID');
        else throw syntaxError();
      }
      turn.reply(service.checkRule(rule, key, { cost, requestId, maxDelayMs }), writeDecision);
    },
  };
}

export function policyCommand(service: Pick<Service, 'checkPolicy'>): Command {
  const policies = new Policies();
  return {
    name: 'sluice.policy',
    arity: -5,
    summary: 'Asks about a key under a policy that is given with the call.',
    group: 'module',
    keyAt: 1,
    run(turn) {
      const key = turn.key(1);
      let cost: number | undefined;
      let burst: number | undefined;
      for (let i = 5; i < turn.count; i += 2) {
        if (i + 1 === turn.count) throw syntaxError();
        if (turn.is(i, 'burst')) burst = turn.number(i + 1, 'BURST');
        else if (turn.is(i, 'cost')) cost = turn.number(i + 1, 'COST');
        else throw syntaxError();
      }
      const policy = policies.of(turn.key(2, 'algorithm'), turn.number(3, 'limit'), wholeMilliseconds(turn, 4), burst);
      turn.reply(service.checkPolicy(policy, key, { cost, maxDelayMs }), writeDecision);
    },
  };
}

function wholeMilliseconds(turn: Turn, i: number): number {
  const ms = turn.integer(i);
  if (!Number.isNaN(ms)) return ms;
  throw new CommandError(`windowMs must be a whole number of milliseconds, got '${turn.text(i).slice(0, 64)}'`);
}

// Policies that clients choose: so many are kept ready, and the oldest is made anew.
const mostPolicies = 1000;

class Policies {
  private readonly ready = new Map<string, Policy>();

  of(algorithm: string, limit: number, window: number, burst: number | undefined): Policy {
    const id = `${algorithm} ${limit} ${window} ${burst}`;
    let policy = this.ready.get(id);
    if (policy === undefined) {
      policy = parsePolicy(burst === undefined ? { algorithm, limit, window } : { algorithm, limit, window, burst });
      if (this.ready.size >= mostPolicies) this.ready.delete(this.ready.keys().next().value!);
      this.ready.set(id, policy);
    }
    return policy;
  }
}

function writeDecision(writer: ReplyWriter, decision: Decision): void {
  writer.array(6);
  writer.integer(decision.allowed ? 1 : 0);
  writer.integer(orNever(Math.floor(decision.limit)));
  writer.integer(orNever(decision.remaining));
  writer.integer(orNever(decision.retryAfterMs));
  writer.integer(orNever(decision.resetAfterMs));
  writer.bulk(decision.rule);
}

function orNever(value: number): number {
  return value === Number.POSITIVE_INFINITY ? -1 : value;
}
