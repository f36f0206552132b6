// Puts what an export holds into stores, in units of work of many lines each: while one is written, the lines of the
// next are read.
import type { Memberships, ObjectEntries } from '../../contracts/permission.ts';
import type { ListKey, StoredEntry } from '../../core/objects/stored.ts';
import type { OpenStores } from '../backends.ts';
import { inUnit } from '../copy/units.ts';
import { sizeOf } from '../copy/walk.ts';
import type { ExportLine } from './lines.ts';

/** What one unit of work holds at most. */
const unitEntries = 20_000;
const unitLists = 500;
const unitCharacters = 8_000_000;

interface Part {
  readonly list: ListKey;
  clock: number;
  horizon: number;
  /** Whether more of it may come. */
  isOpen: boolean;
  /** By id: an entry that was changed during the export comes twice, and the last one counts. */
  readonly entries: Map<string, StoredEntry>;
}

export class Restoring {
  readonly #stores: OpenStores;
  readonly #onWritten: (entries: number, objectsWithPermissions: number) => void;
  #parts: Part[] = [];
  #entries: ObjectEntries[] = [];
  #memberships: Memberships[] = [];
  #size = 0;
  #characters = 0;
  #writing: Promise<void> = Promise.resolve();

  /** @param onWritten called with how many entries, and how many objects with permissions, were written just now */
  constructor(stores: OpenStores, onWritten: (entries: number, objectsWithPermissions: number) => void) {
    this.#stores = stores;
    this.#onWritten = onWritten;
  }

  /** Takes a line; waits while too much is on its way. */
  async add(lines: readonly ExportLine[]): Promise<void> {
    for (const line of lines) {
      this.#take(line);
      if (this.#isFull()) await this.#flush();
    }
  }

  async finish(): Promise<void> {
    await this.#flush();
    await this.#writing;
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
        // The last one of two has its place in the order of timestamps, too.
        this.#part().entries.delete(line.entry.id);
        this.#part().entries.set(line.entry.id, line.entry);
        this.#size++;
        this.#characters += sizeOf(line.entry);
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
        this.#memberships.push(line.memberships);
        this.#size += line.memberships.principals.length;
        return;
      case 'header':
      case 'summary':
        return;
    }
  }

  #part(): Part {
    const part = this.#parts.at(-1);
    if (part === undefined) throw new Error('an entry comes before its list');
    return part;
  }

  #isFull(): boolean {
    return this.#size >= unitEntries || this.#characters >= unitCharacters || this.#parts.length >= unitLists;
  }

  /** Writes what has been taken, as soon as what was taken before is written. */
  async #flush(): Promise<void> {
    const [parts, entries, memberships] = [this.#parts, this.#entries, this.#memberships];
    const last = parts.at(-1);
    this.#parts = last?.isOpen === true ? [{ ...last, entries: new Map() }] : [];
    this.#entries = [];
    this.#memberships = [];
    this.#size = 0;
    this.#characters = 0;
    await this.#writing;
    this.#writing = this.#write(parts, entries, memberships);
    // Told by whoever waits for it next.
    this.#writing.catch(() => undefined);
  }

  async #write(parts: readonly Part[], entries: readonly ObjectEntries[], all: readonly Memberships[]): Promise<void> {
    const { storage, permission } = this.#stores;
    if (parts.length > 0) {
      await inUnit(storage.database, async (transaction) => {
        const writer = storage.writer(transaction);
        for (const { list, clock, horizon, entries: stored } of parts) {
          await writer.restore(list, { clock, horizon, entries: [...stored.values()] });
        }
      });
    }
    if (entries.length > 0 || all.length > 0) {
      await inUnit(permission.database, async (transaction) => {
        const writer = permission.writer(transaction);
        await writer.addToAces(entries);
        const calls = all.flatMap(({ userId, principals }) =>
          principals.map((one) => writer.addUserPrincipal(userId, one)),
        );
        await Promise.all(calls);
      });
    }
    const written = parts.reduce((sum, part) => sum + part.entries.size, 0);
    this.#onWritten(written, entries.length);
  }
}
