// Live updates where the network or the service fails, where streams do not get through, and where consumers are slow.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  basic,
  bearer,
  Coffer,
  type ClientOptions,
  type Collection,
  type LiveOptions,
} from '../../../packages/client/src/index.ts';
import { createEventReader } from '../../../packages/client/src/event-stream.ts';
import { authorizationOf, startTestService, type TestService } from '../../../src/testing/index.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { FaultyProxy } from './faulty-proxy.ts';
import { Follower } from './follower.ts';

interface Note {
  readonly n: number;
  readonly text?: string;
}

describe('Live updates of the client', () => {
  let service: TestService;
  let proxy: FaultyProxy;
  let direct: Coffer;
  let collections = 0;

  beforeAll(async () => {
    service = await startTestService();
    direct = new Coffer(service.origin, { auth: basic('ann', 'secret of ann') });
    await direct.buckets.create({ id: 'b' });
  });
  afterAll(() => service.close());
  beforeEach(async () => {
    proxy = await FaultyProxy.start(service.origin);
    collections += 1;
    await direct.bucket('b').collections.create({ id: `c${collections}` });
  });
  afterEach(() => proxy.close());

  function notesOf(coffer: Coffer): Collection<Note> {
    return coffer.bucket('b').collection<Note>(`c${collections}`);
  }

  function open(options: ClientOptions = {}): Coffer {
    return new Coffer(proxy.origin, { auth: basic('ann', 'secret of ann'), maxPauseMs: 20, ...options });
  }

  function follow(notes: Collection<Note>, options: LiveOptions<Note> = {}): Follower<Note> {
    const follower = new Follower(notes.live(options));
    onTestFinished(() => follower.stop());
    return follower;
  }

  const isStream = (target: string): boolean => target.startsWith('/v1/live?');
  const isPoll = (target: string): boolean => target.includes('_live=poll');

  it.each([
    ['a proxy collects responses', 'buffer'],
    ['the service has no live updates', { status: 404, body: '{"code":404,"errno":111}' }],
    ['a proxy has a page of its own there', { status: 200, headers: { 'Content-Type': 'text/html' }, body: '<html>' }],
  ] as const)('poll where %s', async (_, fault) => {
    const coffer = open({ live: { openingMs: 200 } });
    proxy.rule = ({ target }) => (isStream(target) ? fault : undefined);
    await notesOf(direct).create({ id: 'n0', n: 0 });
    const follower = follow(notesOf(coffer));
    await follower.until(({ copy }) => copy.has('n0'));
    await notesOf(direct).create({ id: 'n1', n: 1 });
    await follower.until(({ copy }) => copy.has('n1'));
    expect(proxy.seen.filter(({ target }) => isStream(target))).toHaveLength(1);
    expect(proxy.seen.some(({ target }) => isPoll(target))).toBe(true);
  });

  it('go back to streams after a while of polling', async () => {
    const coffer = open({ live: { openingMs: 10_000, pollingMs: 500 } });
    proxy.rule = ({ target }) =>
      isStream(target) && !proxy.seen.some((seen) => isPoll(seen.target)) ? { status: 404 } : undefined;
    await notesOf(direct).create({ id: 'n0', n: 0 });
    const follower = follow(notesOf(coffer));
    await follower.until(({ copy }) => copy.has('n0'));
    await notesOf(direct).create({ id: 'n1', n: 1 });
    await follower.until(({ copy }) => copy.has('n1'));
  });

  it('use streams for the next list after a missing one was refused', async () => {
    const coffer = open();
    const missing = coffer.bucket('b').collection<Note>('missing');
    expect(await follow(missing).ended).toMatchObject({ status: 404 });
    const polls = proxy.seen.filter(({ target }) => !isStream(target)).length;
    await follow(notesOf(coffer)).until();
    expect(proxy.seen.filter(({ target }) => !isStream(target))).toHaveLength(polls);
  });

  it.each([0, 1])('are current at once where they are polled, with %d objects', async (count) => {
    const notes = notesOf(direct);
    if (count === 1) await notes.create({ id: 'n0', n: 0 });
    const follower = follow(notesOf(open()), { transport: 'poll' });
    await follower.until();
    expect(follower.copy.size).toBe(count);
    // A poll that waits is the second request.
    expect(proxy.seen.findIndex(({ target }) => isPoll(target))).not.toBe(0);
    const since = follower.last!.cursor;
    await follower.stop();
    proxy.seen.length = 0;
    await follow(notesOf(open()), { transport: 'poll', since }).until();
    expect(proxy.seen.findIndex(({ target }) => isPoll(target))).not.toBe(0);
  });

  it('end with the refusal where only streams are wanted', async () => {
    const coffer = open();
    proxy.rule = ({ target }) => (isStream(target) ? { status: 404, body: '{"code":404,"errno":111}' } : undefined);
    expect(await follow(notesOf(coffer), { transport: 'sse' }).ended).toMatchObject({ kind: 'http', status: 404 });
  });

  it('wait for a service without place, out of reach, or with errors', async () => {
    const coffer = open();
    const busy = { status: 503, headers: { 'Retry-After': '0' }, body: '{"code":503,"errno":201}' };
    proxy.faults.push('cut', busy, { status: 429 }, { status: 502, body: '<html>' }, 'cut', 'cut');
    await notesOf(direct).create({ id: 'n0', n: 0 });
    const follower = follow(notesOf(coffer));
    await follower.until(({ copy }) => copy.has('n0'));
    expect(proxy.seen.filter(({ target }) => isStream(target))).toHaveLength(proxy.seen.length);
  });

  it.each([-1, 1])('need no clock that is right: that of the service differs by %d days', async (days) => {
    const skewed = await startTestService({ clock: { now: () => Date.now() + days * 86_400_000 } });
    onTestFinished(() => skewed.close());
    const owner = new Coffer(skewed.origin, { auth: basic('ann', 'secret') });
    await owner.buckets.create({ id: 'b' });
    await owner.bucket('b').collections.create({ id: 'c' });
    const list = owner.bucket('b').collection<Note>('c');
    const { last_modified } = await list.put('a', { n: 1 });
    for (const transport of ['sse', 'poll'] as const) {
      const follower = new Follower(list.live({ transport }));
      onTestFinished(() => follower.stop());
      await follower.until();
      const changed = await list.patch('a', { n: 2 });
      await follower.until(({ copy }) => copy.get('a')?.last_modified === changed.last_modified);
    }
    await expect(list.put('a', { n: 3 }, { ifMatch: last_modified })).rejects.toMatchObject({ status: 412 });
  });

  it('leave a connection that has fallen silent', async () => {
    const network = await TcpProxy.to(Number(new URL(service.origin).port));
    onTestFinished(() => network.close());
    const coffer = new Coffer(`http://127.0.0.1:${network.port}`, {
      auth: basic('ann', 'secret of ann'),
      maxPauseMs: 20,
      live: { openingMs: 30_000, silenceMs: 300 },
    });
    const follower = follow(notesOf(coffer));
    await follower.until();
    network.fallSilent();
    network.mend();
    await notesOf(direct).create({ id: 'n0', n: 0 });
    await follower.until(({ copy }) => copy.has('n0'));
    expect(follower.resyncs).toEqual([]);
  });

  it('reconnect to a service that was restarted', async () => {
    const first = await startTestService();
    const target = new URL(first.origin);
    const own = new Coffer(first.origin, { auth: basic('ann', 'x'), maxPauseMs: 20 });
    await own.buckets.create({ id: 'b' });
    const follower = new Follower(own.buckets.live());
    onTestFinished(() => follower.stop());
    await follower.until(({ copy }) => copy.size === 1);
    await first.close();
    const second = await startTestService({ settings: {} });
    onTestFinished(() => second.close());
    const network = await FaultyProxy.start(second.origin, Number(target.port));
    onTestFinished(() => network.close());
    // The restarted service has lost its data, as after a restore of an older backup.
    await follower.until(({ resyncs }) => resyncs.length > 0);
    await follower.until(({ copy }) => copy.size === 0);
  });

  it('renew refused credentials, and end when there are no others', async () => {
    const valid = authorizationOf('ann');
    let token = 'old';
    let renewals = 0;
    const auth = (refused?: string): string => {
      if (refused !== undefined && renewals === 0) {
        renewals += 1;
        token = 'new';
      }
      return token === 'new' ? valid : 'Bearer old';
    };
    await direct.bucket('b').collections.permissions(`c${collections}`).get();
    const own = new Coffer(service.origin, { auth: () => valid });
    await own.buckets.create({ id: `own${collections}` });
    await own.bucket(`own${collections}`).collections.create({ id: 'c' });
    const notes = new Coffer(proxy.origin, { auth, maxPauseMs: 20 }).bucket(`own${collections}`).collection<Note>('c');
    const follower = follow(notes);
    await follower.until();
    expect(renewals).toBe(1);
    const stubborn = new Coffer(proxy.origin, { auth: bearer(() => 'old') })
      .bucket(`own${collections}`)
      .collection<Note>('c');
    expect(await follow(stubborn).ended).toMatchObject({ kind: 'http', status: 401, errno: 104 });
    expect(await follow(stubborn, { transport: 'poll' }).ended).toMatchObject({ kind: 'http', status: 401 });
  });

  it('buffer little for a slow consumer, and lose nothing', async () => {
    const coffer = open({ live: { stallMs: 50 } });
    const text = 'x'.repeat(1000);
    for (let round = 0; round < 8; round += 1) {
      await direct.batch((root) =>
        Array.from({ length: 25 }, (_, n) =>
          root.bucket('b').collection<Note>(`c${collections}`).put(`n${round}-${n}`, { n, text }),
        ),
      );
    }
    const groups = new Follower(coffer.bucket('b').groups.live());
    onTestFinished(() => groups.stop());
    const iterator = notesOf(coffer).live({ buffer: 10 })[Symbol.asyncIterator]();
    onTestFinished(async () => {
      await iterator.return?.();
    });
    const copy = new Map<string, unknown>();
    const take = async (): Promise<boolean> => {
      const { value } = await iterator.next();
      for (const change of value!.changes) copy.set(change.id, change);
      return value!.current;
    };
    await take();
    // The other list goes on while this consumer takes nothing.
    await groups.until();
    await direct.bucket('b').groups.put(`g${collections}`, { members: [] });
    await groups.until((follower) => follower.copy.has(`g${collections}`));
    while (!(await take()));
    expect(copy.size).toBe(200);
    await notesOf(direct).put('late', { n: 1 });
    while (!copy.has('late')) await take();
  });

  it('apply a validator to objects and not to removals', async () => {
    const coffer = open();
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        types: undefined as { readonly input: { n: number }; readonly output: { n: number } } | undefined,
        validate: (value: unknown) => {
          const { n } = value as { readonly n?: unknown };
          return typeof n === 'number' ? { value: { n } } : { issues: [{ message: 'n is no number' }] };
        },
      },
    };
    const notes = coffer.bucket('b').collection(`c${collections}`, { schema });
    await notes.create({ id: 'n0', n: 0 });
    await notes.create({ id: 'n1', n: 1 });
    await notes.delete('n1');
    const follower = new Follower(notes.live());
    onTestFinished(() => follower.stop());
    await follower.until();
    await direct.bucket('b').collection(`c${collections}`).put('bad', { n: 'text' });
    expect(await follower.ended).toMatchObject({ kind: 'validation', issues: [{ message: 'n is no number' }] });
  });
});

describe('Server-sent events', () => {
  const bytes = new TextEncoder().encode(
    ':\n\nretry: 1000\n\nid: 1.a\r\nevent: changes\r\ndata: {"ä☃😀":1}\r\n\r\ndata\ndata: b\n\nevent: x',
  );

  it('are read from parts of any size', () => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const read = createEventReader();
      const events = [];
      for (let at = 0; at < bytes.length; at += size) events.push(...read(bytes.subarray(at, at + size)));
      expect(events).toEqual([{ retry: '1000' }, { id: '1.a', event: 'changes', data: '{"ä☃😀":1}' }, { data: '\nb' }]);
    }
  });

  it('are not searched again for each part of a long one', () => {
    const long = new TextEncoder().encode(`data: ${'x'.repeat(1_000_000)}\n\n`);
    const read = createEventReader();
    const split = vi.spyOn(String.prototype, 'split');
    const events = [];
    for (let at = 0; at < long.length; at += 1000) events.push(...read(long.subarray(at, at + 1000)));
    const searched = split.mock.contexts.reduce<number>((sum, text) => sum + String(text).length, 0);
    expect(events).toHaveLength(1);
    expect(searched).toBeLessThan(2 * long.length);
  });

  it('have a maximum size', () => {
    const read = createEventReader();
    const part = new Uint8Array(2 ** 24).fill(0x61);
    expect(() => {
      for (let count = 0; count < 10; count += 1) read(part);
    }).toThrow('too long');
  });
});
