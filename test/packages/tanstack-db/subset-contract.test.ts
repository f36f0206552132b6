// The contract of `loadSubset` and `unloadSubset`, called as TanStack DB documents it, with the calls that the adapter makes.
import { IR, type SyncConfigRes } from '@tanstack/db';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { cofferCollectionOptions } from '../../../packages/tanstack-db/src/index.ts';
import { FaultyProxy } from '../client/faulty-proxy.ts';
import { fill, startWorld, until, type Item, type World } from './support.ts';

const below = (limit: number): IR.BasicExpression<boolean> =>
  new IR.Func('lt', [new IR.PropRef(['n']), new IR.Value(limit)]);

/** A collection that only records what the adapter does, and checks its order. */
class Recorder {
  readonly rows = new Map<string, Item>();
  readonly calls: string[] = [];
  readonly res: Required<Pick<SyncConfigRes, 'cleanup' | 'loadSubset' | 'unloadSubset'>>;
  readonly proxy: FaultyProxy;
  #isOpen = false;

  private constructor(world: World, proxy: FaultyProxy) {
    this.proxy = proxy;
    const client = world.clientOf('owner', proxy.origin);
    const { sync } = cofferCollectionOptions<Item>({
      id: 'recorded',
      client,
      list: world.records,
      syncMode: 'on-demand',
      keepSubsetMs: 1,
    });
    const params = {
      collection: {},
      begin: () => {
        if (this.#isOpen) throw new Error('begin inside of a transaction');
        this.#isOpen = true;
        this.calls.push('begin');
      },
      write: ({ type, key, value }: { type: string; key?: string; value?: Item }) => {
        if (!this.#isOpen) throw new Error('write outside of a transaction');
        const id = key ?? value!.id;
        if ((type === 'insert') === this.rows.has(id)) throw new Error(`${type} of ${id}`);
        if (type === 'delete') this.rows.delete(id);
        else this.rows.set(id, value!);
        this.calls.push(`${type} ${id}`);
      },
      truncate: () => {
        if (!this.#isOpen) throw new Error('truncate outside of a transaction');
        this.rows.clear();
        this.calls.push('truncate');
      },
      commit: () => {
        if (!this.#isOpen) throw new Error('commit without begin');
        this.#isOpen = false;
        this.calls.push('commit');
        return true;
      },
      markReady: () => this.calls.push('ready'),
      markError: () => this.calls.push('error'),
    };
    this.res = (sync.sync as (given: unknown) => unknown)(params) as never;
  }

  static async start(world: World): Promise<Recorder> {
    const proxy = await FaultyProxy.start(world.service.origin);
    const recorder = new Recorder(world, proxy);
    onTestFinished(async () => {
      await recorder.res.cleanup();
      await proxy.close();
    });
    await until(() => recorder.calls.includes('ready'));
    return recorder;
  }

  /** Requests for the rows of subsets. */
  get reads(): number {
    return this.proxy.seen.filter(({ target }) => target.includes('/records?_filter')).length;
  }

  /** Lets requests for rows wait until the returned function is called. */
  hold(): void {
    this.proxy.rule = ({ target }) => (target.includes('/records?_filter') ? 'silence' : undefined);
  }

  get ids(): string[] {
    return [...this.rows.keys()].toSorted();
  }
}

describe('loadSubset', () => {
  let world: World;
  let recorder: Recorder;
  beforeEach(async () => {
    world = await startWorld();
    await fill(
      world,
      Array.from({ length: 6 }, (_, n) => ({ id: `r${n}`, n })),
    );
    recorder = await Recorder.start(world);
  });
  afterEach(() => world.close());

  it('resolves after the rows are committed, and returns true when they are there', async () => {
    const { loadSubset } = recorder.res;
    await loadSubset({ where: below(3) });
    expect(recorder.ids).toEqual(['r0', 'r1', 'r2']);
    expect(recorder.calls.at(-1)).toBe('commit');
    expect(loadSubset({ where: below(3) })).toBe(true);
    expect(recorder.reads).toBe(1);
  });

  it('keeps rows that another subset needs, and forgets the others', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    const [few, many] = [{ where: below(2) }, { where: below(4) }];
    await Promise.all([loadSubset(few), loadSubset(many)]);
    unloadSubset(many);
    await until(() => recorder.rows.size === 2);
    await world.records.patch('r1', { name: 'changed' });
    await until(() => recorder.rows.get('r1')?.name === 'changed');
    unloadSubset(few);
    await until(() => recorder.rows.size === 0);
  });

  it('ignores releases that are repeated or that nothing acquired', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    const [one, same] = [{ where: below(2) }, { where: below(2) }];
    await Promise.all([loadSubset(one), loadSubset(same)]);
    unloadSubset({ where: below(2) });
    unloadSubset(one);
    unloadSubset(one);
    await world.records.put('new', { n: 0 });
    await until(() => recorder.rows.has('new'));
    expect(recorder.ids).toEqual(['new', 'r0', 'r1']);
  });

  it('goes on for one request when another one that shares its read is cancelled', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    const controller = new AbortController();
    const cancelled = { where: below(3), signal: controller.signal };
    const [first, second] = [loadSubset(cancelled), loadSubset({ where: below(3) })];
    controller.abort();
    await expect(first).rejects.toMatchObject({ name: 'AbortError' });
    unloadSubset(cancelled);
    await second;
    expect(recorder.ids).toEqual(['r0', 'r1', 'r2']);
    expect(recorder.reads).toBe(1);
  });

  it('reads nothing for a request that was cancelled before', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    const options = { where: below(3), signal: AbortSignal.abort() };
    await expect(loadSubset(options)).rejects.toMatchObject({ name: 'AbortError' });
    unloadSubset(options);
    await loadSubset({ where: below(1) });
    expect(recorder.ids).toEqual(['r0']);
  });

  it('rejects when the read fails, and reads again on the next request', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    recorder.proxy.rule = ({ target }) =>
      target.includes('/records?_filter') ? { status: 403, body: '{}' } : undefined;
    const options = { where: below(3) };
    await expect(loadSubset(options)).rejects.toMatchObject({ status: 403 });
    unloadSubset(options);
    recorder.proxy.rule = undefined;
    await loadSubset({ where: below(3) });
    expect(recorder.ids).toEqual(['r0', 'r1', 'r2']);
  });

  it('keeps following a subset when a repeated read of it fails', async () => {
    const { loadSubset, unloadSubset } = recorder.res;
    await loadSubset({ where: below(3) });
    recorder.proxy.rule = ({ target }) =>
      target.includes('/records?_filter') ? { status: 403, body: '{}' } : undefined;
    const again = { where: below(3), refetch: true };
    await expect(loadSubset(again)).rejects.toMatchObject({ status: 403 });
    unloadSubset(again);
    await world.records.put('new', { n: 0 });
    await until(() => recorder.rows.has('new'));
    expect(recorder.ids).toEqual(['new', 'r0', 'r1', 'r2']);
  });

  it('loads nothing for a limit of 0, and pages by offset without a cursor', async () => {
    const { loadSubset } = recorder.res;
    expect(loadSubset({ limit: 0 })).toBe(true);
    const compareOptions = { direction: 'asc', nulls: 'first', stringSort: 'lexical' } as const;
    const orderBy = [{ expression: new IR.PropRef(['n']), compareOptions }];
    await loadSubset({ orderBy, limit: 2, offset: 1 });
    // The prefix up to the end of the page, so that the rows before it are followed too.
    expect(recorder.ids).toEqual(expect.arrayContaining(['r0', 'r1', 'r2']));
  });

  it('settles requests that wait when the run ends, and writes nothing after that', async () => {
    const { loadSubset, cleanup } = recorder.res;
    recorder.hold();
    const waiting = Promise.resolve(loadSubset({ where: below(3) })).catch((error: unknown) => error);
    await until(() => recorder.reads === 1);
    await cleanup();
    await waiting;
    const count = recorder.calls.length;
    recorder.proxy.rule = undefined;
    await world.records.put('new', { n: 0 });
    expect(recorder.calls).toHaveLength(count);
    expect(recorder.rows.size).toBe(0);
  });
});
