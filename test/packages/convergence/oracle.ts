// What must be true after a history: which versions a client may have written, and which edits must have arrived.
import type { Field, Item, Strategy } from './replica.ts';
import type { Version } from './world.ts';

/** What a client has done, as its user knows it. */
export interface Edits {
  readonly strategy: Strategy;
  /** All edits of the client, in their order. A deletion has no field. */
  readonly made: { readonly id: string; readonly field?: Field; readonly value?: number }[];
  /** Records that the service has confirmed. */
  readonly confirmed: Item[];
  /** Values whose edit has failed visibly. */
  readonly refused: number[];
  /**
   * Whether the client may have taken a write of its own, whose response was lost, for one of others. That ends a conflict
   * about a later edit of that record as its strategy says. kinto.js compares the timestamps that it knows alone
   * (`importChange`), and RxDB forgets at a restart what it has sent. TanStack DB stores what it receives only when no transaction
   * waits: after a restart, a record that this client has created before can be missing, until the list is read again.
   */
  mayForget: boolean;
}

const fields = ['a', 'b'] as const;

/**
 * Returns what is wrong, one sentence for each fault.
 *
 * @param versions all states of the records, the oldest first
 * @param edits by name of the client
 */
export function findFaults(versions: readonly Version[], edits: ReadonlyMap<string, Edits>): string[] {
  const faults: string[] = [];
  const records = groupById(versions);
  for (const [id, states] of records) {
    let before: Item | undefined;
    for (const { user, item } of states) {
      const own = edits.get(user)!;
      for (const fault of faultsOf(own, id, before, item)) faults.push(`${user} (${own.strategy}): ${fault}`);
      before = item;
    }
  }
  for (const [user, own] of edits) {
    for (const fault of lostOf(user, own, records)) faults.push(`${user} (${own.strategy}): ${fault}`);
  }
  return faults;
}

/** Returns what is wrong with a write. */
function* faultsOf(own: Edits, id: string, before: Item | undefined, after: Item | undefined): Generator<string> {
  const made = own.made.filter((edit) => edit.id === id);
  if (after === undefined) {
    if (!made.some(({ field }) => field === undefined)) yield `deleted ${id}, which it has not deleted`;
    return;
  }
  for (const field of fields) {
    const value = after[field];
    if (value === (before?.[field] ?? 0)) continue;
    const isOwn = made.some((edit) => edit.field === field && edit.value === value);
    // A new record has the first value, also in place of one that the client has deleted or did not know.
    const isNew = value === 0;
    // The record as a whole becomes that of the client.
    const isWhole = own.strategy === 'client' || own.strategy === 'manual';
    if (!isOwn && !isNew && !isWhole)
      yield `changed ${field} of ${id} from ${before?.[field]} to ${value}, which is not its edit`;
  }
}

/** Returns edits that are missing in the versions. */
function* lostOf(user: string, own: Edits, records: ReadonlyMap<string, readonly Version[]>): Generator<string> {
  const hasArrived = (id: string, field: Field, value: number): boolean =>
    records.get(id)?.some(({ item }) => item?.[field] === value) === true;
  const isMade = (id: string, field: Field, value: number): boolean =>
    own.made.some((edit) => edit.id === id && edit.field === field && edit.value === value);
  for (const item of own.confirmed) {
    for (const field of fields) {
      if (item[field] > 0 && isMade(item.id, field, item[field]) && !hasArrived(item.id, field, item[field])) {
        yield `lost the confirmed value ${item[field]} of ${item.id}`;
      }
    }
  }
  for (const [index, { id, field, value }] of own.made.entries()) {
    if (field === undefined || value === undefined) continue;
    const states = records.get(id) ?? [];
    if (hasArrived(id, field, value)) {
      if (own.refused.includes(value)) yield `wrote ${value} to ${id}, although the edit has failed`;
      continue;
    }
    const later = own.made.slice(index + 1).filter((edit) => edit.id === id);
    const isReplaced = later.some((edit) => edit.field === field || edit.field === undefined);
    const rivals = states.filter((state) => own.mayForget || state.user !== user);
    // A merge loses against deletions alone.
    const winners = own.strategy === 'merge' ? rivals.filter(({ item }) => item === undefined) : rivals;
    const hasLost = own.strategy !== 'client' && winners.length > 0;
    if (!isReplaced && !hasLost) yield `lost the value ${value} of ${id}, without a conflict that explains it`;
  }
}

function groupById(versions: readonly Version[]): Map<string, Version[]> {
  const groups = new Map<string, Version[]>();
  for (const version of versions) groups.set(version.id, [...(groups.get(version.id) ?? []), version]);
  return groups;
}
