// Notes what a unit of work writes, for those who want to know after its commit.
import { interceptCalls } from '../base/intercept-calls.ts';
import type { ChangeHint } from '../contracts/change-hints.ts';
import type { StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { storedUri } from '../core/objects/uris.ts';

/** Learns what commits have changed. */
export interface CommitListener {
  /** Whether anything wants to know at the moment. Otherwise units of work note nothing. */
  readonly isListening: boolean;
  /** Called after each commit that changed something. Must not throw. */
  committed(hints: readonly ChangeHint[]): void;
}

/** The methods that change objects. Locks, clocks, purged tombstones and keys of indexes are no news to followers. */
type WriteName = Exclude<
  keyof StorageWriter,
  keyof StorageReader | 'lock' | 'lockShared' | 'touch' | 'purgeDeleted' | 'setKeys'
>;

const ofList = (list: unknown): ChangeHint => ({ list: list as ListKey });

/** The hint of each method that changes what followers see, from its first argument. */
const hintsOf: Readonly<Record<WriteName, (first: unknown) => ChangeHint>> = {
  create: ofList,
  createAll: ofList,
  update: ofList,
  delete: ofList,
  deleteAll: ofList,
  trimObjects: ofList,
  restore: ofList,
  deleteChildren: (uri) => ({ below: storedUri(uri as string) }),
  flush: () => ({ flushed: true }),
};

/** Returns the writer with its writes noted. */
export function notingWrites(writer: StorageWriter, note: (hint: ChangeHint) => void): StorageWriter {
  return interceptCalls(writer, (name, given, call) => {
    const hintOf = Object.hasOwn(hintsOf, name) ? hintsOf[name as WriteName] : undefined;
    if (hintOf !== undefined) note(hintOf(given[0]));
    return call();
  });
}
