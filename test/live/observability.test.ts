// What operators see of live updates: log lines and metrics.
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Logger } from '../../src/contracts/logger.ts';
import { testBackends } from '../../src/testing/index.ts';
import { records, Stage } from './stage.ts';

describe('live updates for operators', () => {
  it('write a line when a stream opens and one when it ends, with the reason', async () => {
    const lines: object[] = [];
    const drop = (): void => undefined;
    const logger: Logger = {
      debug: drop,
      warn: drop,
      error: drop,
      info(fields: string | object, message?: string) {
        if (message?.startsWith('live.') === true) lines.push({ ...(fields as object), message });
      },
    };
    const settings = { live_recheck_seconds: '0.5' };
    const stage = await Stage.start(testBackends[0]!, { logger, settings });
    onTestFinished(() => stage.close());
    const stream = await stage.follow('', { auth: 'bob' });
    await stream.until('current');
    const bob = await stage.idOf('bob');
    const list = { kind: 'record', parent: '/buckets/b/collections/c', uid: bob };
    expect(lines).toEqual([{ ...list, open: 1, message: 'live.opened' }]);
    await stage.setReaders();
    await stream.until('end');
    expect(lines[1]).toMatchObject({
      ...list,
      open: 0,
      reason: 'refused',
      frames: 1,
      resyncs: 0,
      message: 'live.ended',
    });
  });

  it('count streams, polls, frames and resyncs, and measure the lag', async () => {
    const settings = { includes: 'prometheus flush', live_recheck_seconds: '0.5' };
    const stage = await Stage.start(testBackends[0]!, { settings });
    onTestFinished(() => stage.close());
    const value = async (name: string): Promise<number> => {
      const { text } = await stage.service.request('GET', '/v1/__metrics__');
      const line = text.split('\n').find((each) => each.startsWith(`coffer_${name}`));
      return Number(line?.split(' ').at(-1));
    };
    const stream = await stage.follow('');
    await stream.until('current');
    const poll = fetch(`${stage.service.origin}${records}?_live=poll&_wait=60&_since=${await stage.clock()}`);
    await expect.poll(() => value('live_streams{transport="poll"}')).toBe(1);
    expect(await value('live_streams{transport="sse"}')).toBe(1);
    await stage.put('x');
    expect((await poll).status).toBe(200);
    await stream.until('changes');
    await stream.until('current');
    await expect.poll(() => value('live_streams{transport="poll"}')).toBe(0);
    expect(await value('live_frames_total')).toBe(3);
    expect(await value('live_lag_seconds_count')).toBe(1);
    stream.close();
    await expect.poll(() => value('live_streams{transport="sse"}')).toBe(0);
    expect(await value('live_streams_ended_total{reason="client",transport="sse"}')).toBe(1);
  });
});
