// What operators see of live updates: log lines and metrics.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Logger } from '../../src/contracts/logger.ts';
import { testBackends } from '../../src/testing/index.ts';
import { records, Stage } from './stage.ts';

describe('live updates for operators', () => {
  it('count once against rate limits when they open, whatever they send', async () => {
    const settings = { rate_limits: 'calls', 'rate_limits.calls.requests': '10', 'rate_limits.calls.window': '1h' };
    const stage = await Stage.start(testBackends[0]!, { settings });
    onTestFinished(() => stage.close());
    const stream = await stage.follow('', { auth: 'bob' });
    for (const id of ['a', 'b', 'c']) {
      await stage.put(id);
      await stream.until('changes');
    }
    const statuses: number[] = [];
    for (let n = 0; n < 10; n++) statuses.push((await stage.service.request('GET', records, { auth: 'bob' })).status);
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 200), 429]);
  });

  it('show that a silent connection lives', async () => {
    const stage = await Stage.start(testBackends[0]!);
    onTestFinished(() => stage.close());
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const stream = await stage.follow('');
    await stream.until('current');
    vi.advanceTimersByTime(19_000);
    await stage.put('x');
    await stream.until('changes');
    // It was not silent for long enough.
    vi.advanceTimersByTime(5000);
    await stage.put('y');
    await stream.until('changes');
    expect(stream.comments).toBe(0);
    vi.advanceTimersByTime(21_000);
    await expect.poll(() => stream.comments).toBe(1);
  });

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
    const buckets = await stage.follow('/v1/buckets?_live=sse', { auth: 'alice' });
    await buckets.until('current');
    await stage.write('POST', '/v1/__flush__');
    await buckets.until('resync');
    await expect.poll(() => value('live_resyncs_total')).toBeGreaterThan(0);
  });
});
