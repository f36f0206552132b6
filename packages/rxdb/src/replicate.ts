// Starts the replication of a collection with a list of the service.
import { errorToPlainJson, newRxError, type ReplicationPullHandlerResult } from 'rxdb';
import { replicateRxCollection, type RxReplicationState } from 'rxdb/plugins/replication';
import { filter, firstValueFrom, fromEvent, merge, skip } from 'rxjs';
import type { AnyCollection, AnyRow, Fields } from './any.ts';
import { keepingAttachments, withoutAttachments } from './attachments.ts';
import { ChangeReader } from './changes.ts';
import { Checkpoints } from './checkpoints.ts';
import { Pacer, rest } from './failures.ts';
import { Follower } from './follow.ts';
import { isReserved } from './ids.ts';
import { LateStates } from './late.ts';
import { LocalDocuments, type AnyReplication } from './local.ts';
import { checkCollection, type CofferCheckpoint, type CofferReplicationOptions } from './options.ts';
import { Puller } from './pull.ts';
import { Pusher } from './push.ts';
import { RecentRecords } from './recent.ts';
import { Shape, type Document } from './shape.ts';
import { PushesUnderWay } from './under-way.ts';

/** Collections that refuse keys that RxDB cannot replicate. A hook of a collection cannot be removed. */
const guarded = new WeakSet<AnyCollection>();

/**
 * Replicates a collection of RxDB with a list of the service. Returns the state of `replicateRxCollection`, with its
 * observables and methods.
 *
 * @throws Error when the schema of the collection cannot be replicated
 */
export function replicateCoffer<D>(options: CofferReplicationOptions<D>): RxReplicationState<D, CofferCheckpoint> {
  // The types of RxDB are invariant, and the plugin does not know the schema.
  return replicate(options as unknown as CofferReplicationOptions<Fields>) as unknown as RxReplicationState<
    D,
    CofferCheckpoint
  >;
}

function replicate(options: CofferReplicationOptions<Fields>): AnyReplication {
  const {
    client,
    list: { path },
    pull,
    push,
    ids: _,
    attachments,
    live = true,
    ...others
  } = options;
  const collection = options.collection as AnyCollection;
  checkCollection(collection, attachments);
  if (!guarded.has(collection)) {
    guarded.add(collection);
    collection.preInsert((document: Fields) => {
      const key = shape.keyOf(document);
      if (isReserved(key))
        throw new Error(`The primary key "${key}" cannot be replicated: RxDB uses its name. Choose another one.`);
    }, true);
  }

  const controller = new AbortController();
  const { signal } = controller;
  const list = client.list<object>(path);
  const shape = new Shape(options);
  const recent = new RecentRecords();
  const late = new LateStates((document) => shape.keyOf(document));
  const local = new LocalDocuments(collection, () => state);
  const underWay = new PushesUnderWay();
  const report = (code: 'RC_PULL' | 'RC_PUSH' | 'RC_STREAM', error: unknown, parameters: object): void => {
    const errors = [errorToPlainJson(error as Error)];
    state.subjects.error.next(newRxError(code, { ...parameters, errors }));
  };
  const changes = new ChangeReader(shape, recent, late, local, underWay, (error) =>
    report('RC_PULL', error, { direction: 'pull' }),
  );
  const checkpoints = new Checkpoints(() => state);
  const selection = pull?.filter === undefined ? {} : { filter: pull.filter };
  const puller = new Puller(list, changes, { ...selection, signal });
  const { onRefused } = push ?? {};
  const pusher = new Pusher({ client, path, shape, recent, late, local, underWay, signal, onRefused, ...selection });
  const pulls = new Pacer(signal);
  const pushes = new Pacer(signal);
  const retryMs = (): number => state.retryTime ?? 5000;
  const follower = new Follower({
    list,
    changes,
    options: { ...selection, ...(pull?.transport === undefined ? {} : { transport: pull.transport }) },
    retryMs,
    report: (error) => report('RC_STREAM', error, { direction: 'pull', args: { message: error.message } }),
  });

  const withAttachments = attachments !== false;
  const complete = (document: Document): Document => (withAttachments ? document : withoutAttachments(document));
  let isPrepared = false;
  /** Called when RxDB has begun, before it receives anything. */
  const prepare = (): void => {
    if (isPrepared) return;
    isPrepared = true;
    checkpoints.guard(() => void follower.pullLater());
    const { input, events } = state.internalReplicationState!;
    const { paused } = events;
    const handler = withAttachments ? input.conflictHandler : keepingAttachments(input.conflictHandler);
    input.conflictHandler = {
      resolve: async (conflict, context) => {
        const { newDocumentState: edit, realMasterState: actual } = conflict;
        if (!pusher.isEdit(edit)) return actual;
        const resolved = await handler.resolve(conflict, context);
        // RxDB has the edit until it has stored this.
        if (shape.isEqual(resolved, actual)) late.mayIgnore(shape.keyOf(edit));
        return resolved;
      },
      isEqual: late.ignoring((one, other, context) => handler.isEqual(one, other, context)),
    };
    state.subs.push(
      paused.pipe(skip(1)).subscribe((isPaused: boolean) => {
        if (isPaused) follower.stop();
        // RxDB sends its own right after this one.
        else follower.items.next('RESYNC');
      }),
    );
  };

  // A list that was restored from a backup is older than the checkpoint, until something is written: after a restart, pushes
  // wait for an attempt to pull.
  const firstPull = new Stage(signal);
  // RxDB skips its first pull when it is paused before, and the next one waits for the end of pushes, which wait for a pull. So
  // a pause waits for the beginning of the first pull.
  const firstPullBegin = new Stage(signal);
  if (!pull) for (const stage of [firstPull, firstPullBegin]) stage.reach();
  const pullHandler = async (
    checkpoint: CofferCheckpoint | undefined,
    batchSize: number,
  ): Promise<ReplicationPullHandlerResult<Fields, CofferCheckpoint>> => {
    prepare();
    firstPullBegin.reach();
    // Changes from before this pull would come after it. It contains them.
    follower.stop();
    if (checkpoints.isOutdated(checkpoint)) await rest(retryMs(), signal);
    const from = checkpoints.begin(checkpoint);
    if (from.since === '0') firstPull.reach();
    const cancelled = { documents: [], checkpoint: from, isComplete: false };
    const { isComplete, ...pulled } = await pulls
      .run(() => puller.pull(from, batchSize), cancelled)
      .finally(() => firstPull.reach());
    const result = { ...pulled, checkpoint: { ...from, ...pulled.checkpoint } };
    // RxDB pulls again after a full batch.
    if (
      live &&
      isComplete &&
      result.documents.length < batchSize &&
      !state.isStoppedOrPaused() &&
      !checkpoints.isOutdated(result.checkpoint)
    )
      follower.start(result.checkpoint);
    return result;
  };
  /** Waits until the end of a pause. */
  const running = async (): Promise<void> => {
    if (!state.isPaused() || signal.aborted) return;
    const { paused } = state.internalReplicationState!.events;
    await firstValueFrom(merge(paused.pipe(filter((isPaused) => !isPaused)), fromEvent(signal, 'abort')));
  };
  // When RxDB is paused during a push, it forgets the result, and may never send the documents again. So a push that has
  // begun, with all of its attempts, ends after the pause.
  const pushHandler = async (rows: AnyRow[]): Promise<Document[]> => {
    await firstPull.reached;
    for (;;) {
      try {
        const conflicts = await pushes.run(() => pusher.push(rows), []);
        await running();
        return conflicts.map((document) => complete(document));
      } catch (error) {
        report('RC_PUSH', error, { pushRows: rows, direction: 'push' });
        await rest(retryMs(), signal);
        await running();
      }
    }
  };

  const state = replicateRxCollection<Fields, CofferCheckpoint>({
    ...others,
    live,
    ...(pull && {
      pull: {
        ...pick(pull, ['batchSize', 'initialCheckpoint']),
        handler: pullHandler,
        modifier: (document: Document) => late.unmark(complete(document)),
        stream$: follower.items,
      },
    }),
    ...(push && {
      push: {
        ...pick(push, ['batchSize', 'initialCheckpoint', 'waitBeforePersist']),
        handler: pushHandler,
        // Without this, a pause before the call of the handler has the same effect.
        modifier: async (document) => {
          await running();
          return document;
        },
      },
    }),
  });
  // Within one task, RxDB checks several times whether it is paused, and loses documents when the results differ.
  for (const name of ['pause', 'start'] as const) {
    const run = state[name].bind(state);
    state[name] = () => {
      state.startQueue = state.startQueue.then(async () => {
        if (name === 'pause' && state.internalReplicationState !== undefined) await firstPullBegin.reached;
        await rest(0, signal);
      });
      return run();
    };
  }
  state.onCancel.push(() => {
    controller.abort();
    follower.stop();
  });
  return state;
}

/** A point of the replication that is reached once, at the latest at its end. */
class Stage {
  readonly reached: Promise<void>;
  reach: () => void = () => undefined;

  constructor(end: AbortSignal) {
    this.reached = new Promise((resolve) => {
      this.reach = resolve;
      end.addEventListener('abort', () => resolve());
    });
  }
}

/** Returns the members of an object that are present. */
function pick<T extends object, const K extends keyof T>(object: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(
    names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]),
  ) as Pick<T, K>;
}
