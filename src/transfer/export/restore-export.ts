// Writes the contents of an export into empty stores, in units of work of many lines each. While one is written, the lines of the
// next ones are read.
import type { Memberships, ObjectEntries } from '../../contracts/permission.ts';
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { OpenStores } from '../../contracts/open-backends.ts';
import { inUnit } from '../../maintenance/units.ts';
import { sizeOf } from '../../maintenance/walk.ts';
import { groupOf, setMembers, withoutGroups, type Group } from './group-memberships.ts';
import type { ExportLine } from './lines.ts';

/** Limits of one unit of work. */
const unitEntries = 10_000;
const unitLists = 500;
const unitCharacters = 4_000_000;
/** Maximum number of units that are written or wait: some lines take longer to read, and others to write. */
const maxUnits = 4;

/** Called with the numbers of entries and of objects with permissions that were written since the last call. */
export type OnWritten = (entries: number, objectsWithPermissions: number) => void;

interface Part {
  readonly list: ListKey;
  clock: number;
  horizon: number;
  /** Whether more entries of the list may come. */
  isOpen: boolean;
  /** Entries by id. One that was changed during the export occurs twice; the last one counts. */
  readonly entries: Map<string, StoredEntry>;
}

/** Permission entries and memberships of one unit. */
interface Granted {
  readonly entries: readonly ObjectEntries[];
  readonly groups: readonly Group[];
  readonly memberships: readonly Memberships[];
}

export class Restoring {
  readonly #stores: OpenStores;
  readonly #onWritten: OnWritten;
  #parts: Part[] = [];
  #entries: ObjectEntries[] = [];
  /** Groups by URI. */
  #groups = new Map<Principal, Group>();
  #memberships: Memberships[] = [];
  #size = 0;
  #characters = 0;
  /** Units in their order; each is written after the one before. */
  readonly #writing: Promise<void>[] = [];

  constructor(stores: OpenStores, onWritten: OnWritten) {
    this.#stores = stores;
    this.#onWritten = onWritten;
  }

  /** Adds lines; waits while too many units are unfinished. */
  async add(lines: readonly ExportLine[]): Promise<void> {
    for (const line of lines) {
      this.#take(line);
      if (this.#isFull()) await this.#flush();
    }
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#writing.at(-1);
    const { storage, permission } = this.#stores;
    for (const database of new Set([storage.database, permission.database])) await database.refreshStatistics?.();
  }

  #take(line: ExportLine): void {
    switch (line.is) {
      case 'list': {
        const { kind, parent, clock } = line.list;
        this.#parts.push({ list: { kind, parent }, clock, horizon: 0, isOpen: true, entries: new Map() });
        return;
      }
      case 'entry':
        this.#takeEntry(this.#part(), line.entry);
        return;
      case 'end': {
        const part = this.#part();
        part.clock = Math.max(part.clock, line.end.clock);
        part.horizon = line.end.horizon;
        part.isOpen = false;
        return;
      }
      case 'permissions':
        this.#entries.push(line.entries);
        this.#size++;
        return;
      case 'memberships':
        for (const memberships of withoutGroups([line.memberships])) {
          this.#memberships.push(memberships);
          this.#size += memberships.principals.length;
        }
        return;
      case 'header':
      case 'summary':
        return;
    }
  }

  #takeEntry({ list, entries }: Part, entry: StoredEntry): void {
    // Of two entries the last one also determines the place in the order of timestamps.
    entries.delete(entry.id);
    entries.set(entry.id, entry);
    this.#size++;
    this.#characters += sizeOf(entry);
    const group = groupOf(list, entry);
    if (group === undefined) return;
    this.#groups.set(group.uri, group);
    this.#size += group.members.size;
  }

  #part(): Part {
    const part = this.#parts.at(-1);
    if (part === undefined) throw new Error('a line of a list comes before the list');
    return part;
  }

  #isFull(): boolean {
    return this.#size >= unitEntries || this.#characters >= unitCharacters || this.#parts.length >= unitLists;
  }

  /** Starts to write what was collected, after the units before; waits while too many are unfinished. */
  async #flush(): Promise<void> {
    const parts = this.#parts;
    const granted = { entries: this.#entries, groups: [...this.#groups.values()], memberships: this.#memberships };
    const last = parts.at(-1);
    this.#parts = last?.isOpen === true ? [{ ...last, entries: new Map() }] : [];
    this.#entries = [];
    this.#groups = new Map();
    this.#memberships = [];
    this.#size = 0;
    this.#characters = 0;
    const before = this.#writing.at(-1) ?? Promise.resolve();
    const writing = before.then(() => this.#write(parts, granted));
    // The next await throws the error.
    writing.catch(() => undefined);
    if (this.#writing.push(writing) > maxUnits) await this.#writing.shift();
  }

  async #write(parts: readonly Part[], { entries, groups, memberships }: Granted): Promise<void> {
    const { storage, permission } = this.#stores;
    // Entries that were changed during the export occur twice.
    const isFresh = (attempt: number): boolean => attempt === 1;
    if (parts.length > 0) {
      await inUnit(storage.database, async (transaction, attempt) => {
        const writer = storage.writer(transaction);
        for (const { list, clock, horizon, entries: stored } of parts) {
          const restoration = { clock, horizon, entries: [...stored.values()], isFresh: isFresh(attempt) };
          await writer.restore(list, restoration);
        }
      });
    }
    if (entries.length + groups.length + memberships.length > 0) {
      await inUnit(permission.database, async (transaction, attempt) => {
        const writer = permission.writer(transaction);
        await writer.addToAces(entries, { isFresh: isFresh(attempt) });
        await setMembers(writer, groups);
        const calls = memberships.flatMap(({ userId, principals }) =>
          principals.map((one) => writer.addUserPrincipal(userId, one)),
        );
        await Promise.all(calls);
      });
    }
    const written = parts.reduce((sum, part) => sum + part.entries.size, 0);
    this.#onWritten(written, entries.length);
  }
}
