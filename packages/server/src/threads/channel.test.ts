import { MessageChannel } from 'node:worker_threads';
import { SluiceError } from 'sluice';
import { afterEach, describe, expect, it } from 'vitest';
import { ThrottleError } from '../service/throttle.ts';
import { openChannel } from './channel.ts';

const open: MessageChannel[] = [];

afterEach(() => {
  for (const { port1 } of open.splice(0)) port1.close();
});

function pair(handlers: Parameters<typeof openChannel>[1]) {
  const ports = new MessageChannel();
  open.push(ports);
  openChannel(ports.port2, handlers);
  return { ports, channel: openChannel(ports.port1, {}) };
}

describe('a channel', () => {
  it('answers calls, those that take longer later', async () => {
    let letGo = () => {};
    const gate = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const { channel } = pair({
      add: (a: number, b: number) => a + b,
      slow: async () => {
        await gate;
        return 'slow';
      },
    });
    const slow = channel.call<string>('slow');
    expect(await channel.call('add', 1, 2)).toBe(3);
    letGo();
    expect(await slow).toBe('slow');
  });

  it('sends all calls of one turn in one message', async () => {
    const { ports, channel } = pair({ same: (value: unknown) => value });
    let messages = 0;
    ports.port2.on('message', () => {
      messages += 1;
    });
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => channel.call('same', i)));
    expect(answers).toEqual(Array.from({ length: 500 }, (_, i) => i));
    expect(messages).toBe(1);
  });

  it('brings errors over as what they are', async () => {
    const { channel } = pair({
      wrong: () => {
        throw new SluiceError('invalid-option', 'cost must be a number.');
      },
      cell: async () => {
        throw new ThrottleError('Zero rates are not supported');
      },
      bug: () => {
        throw Object.assign(new TypeError('no'), { code: 'EADDRINUSE', port: 80 });
      },
    });
    await expect(channel.call('wrong')).rejects.toMatchObject({
      constructor: SluiceError,
      code: 'invalid-option',
      message: 'cost must be a number.',
    });
    await expect(channel.call('cell')).rejects.toMatchObject({
      constructor: ThrottleError,
      message: 'Cell error: Zero rates are not supported',
    });
    await expect(channel.call('bug')).rejects.toMatchObject({ message: 'no', code: 'EADDRINUSE', port: 80 });
    await expect(channel.call('nothing')).rejects.toThrow('the other thread has no function nothing');
  });
});
