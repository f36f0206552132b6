// Writes the contents of a store as the lines of an export: lists with their clocks, permissions, memberships that are not those
// of groups. It reads pages, so memory does not grow with the store.
import { createHash, type Hash } from 'node:crypto';
import type { ListSummary } from '../../contracts/storage.ts';
import type { Stores } from '../../engine/unit-of-work.ts';
import { addMemberships, addPermissions, DigestSum, RunningListDigest } from '../copy/digest.ts';
import { readState, walkEntryPages, walkLists, walkMemberships, walkPermissions } from '../../maintenance/walk.ts';
import { fingerprintList } from '../../maintenance/secret-fingerprints.ts';
import { withoutGroups } from './group-memberships.ts';
import {
  formatHeader,
  formatListEnd,
  formatListHead,
  formatMembershipsLine,
  formatPermissionsLine,
  formatSummary,
  type ExportHeader,
  type ExportSummary,
} from './lines.ts';

/** The destination of an export. */
export interface ExportSink {
  write(bytes: Buffer): Promise<void>;
}

export interface WriteOptions {
  readonly header: ExportHeader;
  /** Called with the phase, the number of entries done and, where it is known, their total. */
  readonly onProgress: (phase: 'objects' | 'permissions', done: number, total: number | undefined) => void;
}

/** Number of characters that are collected before they are written. */
const keptCharacters = 250_000;

/** Writes an export of the stores, which may be in use; returns its summary. */
export function writeExport(stores: Stores, sink: ExportSink, options: WriteOptions): Promise<ExportSummary> {
  return new Writing(stores, sink, options).run();
}

class Writing {
  readonly #stores: Stores;
  readonly #sink: ExportSink;
  readonly #options: WriteOptions;
  readonly #hash: Hash = createHash('sha256');
  readonly #permissions = new DigestSum();
  readonly #memberships = new DigestSum();
  #kept = '';
  #lists = 0;
  #objects = 0;
  #tombstones = 0;
  #moving = 0;

  constructor(stores: Stores, sink: ExportSink, options: WriteOptions) {
    this.#stores = stores;
    this.#sink = sink;
    this.#options = options;
  }

  async run(): Promise<ExportSummary> {
    const { storage, permission } = this.#stores;
    const { header, onProgress } = this.#options;
    await this.#write(formatHeader(header));
    let total = 0;
    for (const [kind, { objects, tombstones }] of await storage.reader.countKinds()) {
      if (kind !== fingerprintList.kind) total += objects + tombstones;
    }
    for await (const list of walkLists(storage.reader)) await this.#writeList(list, total);
    let done = 0;
    for await (const page of walkPermissions(permission.reader)) {
      addPermissions(this.#permissions, page);
      await this.#write(page.map(formatPermissionsLine).join(''));
      onProgress('permissions', (done += page.length), undefined);
    }
    for await (const all of walkMemberships(permission.reader)) {
      const page = withoutGroups(all);
      addMemberships(this.#memberships, page);
      await this.#write(page.map(formatMembershipsLine).join(''));
    }
    await this.#flush();
    const summary = this.#summarize();
    await this.#sink.write(Buffer.from(formatSummary(summary, this.#hash.digest('hex'))));
    return summary;
  }

  async #writeList(list: ListSummary, total: number): Promise<void> {
    const { reader } = this.#stores.storage;
    const { kind, parent, timestamp } = list;
    const digest = new RunningListDigest();
    const before = this.#objects + this.#tombstones;
    await this.#write(formatListHead({ kind, parent, clock: timestamp }));
    for await (const page of walkEntryPages(reader, list)) {
      await this.#write(digest.add(page));
      this.#options.onProgress('objects', before + digest.count, Math.max(total, before + digest.count));
    }
    // Read after the entries, because tombstones may have been purged meanwhile.
    const { timestamp: clock = timestamp, horizon } = await readState(reader, list);
    const { objects, tombstones, digest: ofEntries } = digest.result();
    const isMoving = clock !== timestamp;
    await this.#write(formatListEnd({ clock, horizon, objects, tombstones, digest: ofEntries, isMoving }));
    this.#lists++;
    this.#objects += objects;
    this.#tombstones += tombstones;
    if (isMoving) this.#moving++;
  }

  #summarize(): ExportSummary {
    const [permissions, memberships] = [this.#permissions.result(), this.#memberships.result()];
    return {
      lists: this.#lists,
      objects: this.#objects,
      tombstones: this.#tombstones,
      permissions: permissions.count,
      permissionsDigest: permissions.digest,
      memberships: memberships.count,
      membershipsDigest: memberships.digest,
      moving: this.#moving,
    };
  }

  async #write(text: string): Promise<void> {
    this.#kept += text;
    if (this.#kept.length >= keptCharacters) await this.#flush();
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#kept);
    this.#kept = '';
    this.#hash.update(bytes);
    await this.#sink.write(bytes);
  }
}
