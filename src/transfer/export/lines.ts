// The lines of an export: how they are written and read back. Each is one JSON object with a fixed order of keys. The text of
// an entry goes from the database to the file and back without being parsed.
import { getKey, isJsonObject, isStorableText, type JsonObject } from '../../base/json.ts';
import { isEscaped } from '../../base/json-text.ts';
import type { Memberships, ObjectEntries, ObjectPermissions } from '../../contracts/permission.ts';
import { isSafeId, isSafeKind, isSafeParent } from '../../core/objects/object-id.ts';
import { isTombstone, StoredObject, type ListKey, type StoredEntry } from '../../core/objects/stored.ts';
import { isImportedTimestamp, latestImportedTimestamp } from '../../core/objects/timestamps.ts';
import { storedParent, storedUri } from '../../core/objects/uris.ts';
import { toPrincipal, toPrincipals, type Principal } from '../../core/permissions/principals.ts';
import { parseFingerprints, type Fingerprints } from '../../maintenance/secret-fingerprints.ts';
import { BrokenLine } from './broken-line.ts';
import { parseText, readEntryData } from './entry-data.ts';

/** Version of the format. Files of version 1 also have the memberships in groups; later versions are refused. */
export const exportFormat = 2;

/** The first line. */
export interface ExportHeader {
  readonly format: number;
  readonly software: string;
  /** Start of the export, in ISO 8601. */
  readonly begun: string;
  /** Fingerprints of the secrets that ids in the export are derived from. */
  readonly secrets: Fingerprints;
}

/** The line before the entries of a list. */
export interface ListHead extends ListKey {
  readonly clock: number;
}

/** The line after the entries of a list. */
export interface ListEnd {
  readonly clock: number;
  /** The highest timestamp of a deletion without a tombstone. */
  readonly horizon: number;
  readonly objects: number;
  readonly tombstones: number;
  /** Digest of the lines of the entries. */
  readonly digest: string;
  /** Whether the list was written to while it was read. An entry may then occur twice; the last one counts. */
  readonly isMoving: boolean;
}

/** The last line without its checksum: counts, and digests of what has no order. */
export interface ExportSummary {
  readonly lists: number;
  readonly objects: number;
  readonly tombstones: number;
  readonly permissions: number;
  readonly permissionsDigest: string;
  /** Users with principals that are not groups. Memberships in groups follow from the members of the groups. */
  readonly memberships: number;
  readonly membershipsDigest: string;
  /** Number of lists that were written to during the export. */
  readonly moving: number;
}

export type ExportLine =
  | { readonly is: 'header'; readonly header: ExportHeader }
  | { readonly is: 'list'; readonly list: ListHead }
  | { readonly is: 'entry'; readonly entry: StoredEntry }
  | { readonly is: 'end'; readonly end: ListEnd }
  | { readonly is: 'permissions'; readonly entries: ObjectEntries }
  | { readonly is: 'memberships'; readonly memberships: Memberships }
  | { readonly is: 'summary'; readonly summary: ExportSummary; readonly sha256: string };

const plainText = /^[\w/.:@-]*$/;

function quote(text: string): string {
  return plainText.test(text) ? `"${text}"` : JSON.stringify(text);
}

export function formatHeader(header: ExportHeader): string {
  return `${JSON.stringify({ coffer: 'export', ...header })}\n`;
}

export function formatListHead({ kind, parent, clock }: ListHead): string {
  return `${JSON.stringify({ list: { kind, parent, clock } })}\n`;
}

/** Formats an object or a tombstone. Digests of lists are made of these lines. */
export function formatEntryLine(entry: StoredEntry): string {
  const own = `{"id":${quote(entry.id)},"last_modified":${entry.lastModified}`;
  return isTombstone(entry) ? `${own},"deleted":true}\n` : `${own},"data":${entry.text}}\n`;
}

export function formatListEnd(end: ListEnd): string {
  return `${JSON.stringify({ end })}\n`;
}

export function formatPermissionsLine({ objectId, permissions }: ObjectEntries): string {
  const entries = Object.entries(permissions).map(([name, all]) => `${quote(name)}:[${all.map(quote).join(',')}]`);
  return `{"permissionsOf":${quote(objectId)},"entries":{${entries.join(',')}}}\n`;
}

export function formatMembershipsLine({ userId, principals }: Memberships): string {
  return `{"principalsOf":${quote(userId)},"principals":[${principals.map(quote).join(',')}]}\n`;
}

/** @param sha256 checksum of everything before this line */
export function formatSummary(summary: ExportSummary, sha256: string): string {
  return `${JSON.stringify({ summary, sha256 })}\n`;
}

/**
 * Parses a line, without its line break.
 *
 * @param readData returns the text to store for the data of an entry
 * @throws BrokenLine
 */
export function parseLine(line: string, readData = readEntryData): ExportLine {
  if (line.startsWith('{"id":')) return { is: 'entry', entry: parseEntryLine(line, readData) };
  const value = parseObject(line);
  if (Object.hasOwn(value, 'permissionsOf')) return { is: 'permissions', entries: readEntries(value) };
  if (Object.hasOwn(value, 'principalsOf')) return { is: 'memberships', memberships: readMemberships(value) };
  if (Object.hasOwn(value, 'list')) return { is: 'list', list: readListHead(partOf(value, 'list')) };
  if (Object.hasOwn(value, 'end')) return { is: 'end', end: readListEnd(partOf(value, 'end')) };
  if (Object.hasOwn(value, 'coffer')) return { is: 'header', header: readHeader(value) };
  if (Object.hasOwn(value, 'summary')) {
    return { is: 'summary', summary: readSummary(partOf(value, 'summary')), sha256: textOf(value, 'sha256') };
  }
  throw new BrokenLine('unknown line');
}

const timeKey = ',"last_modified":';
const dataKey = ',"data":';
const deletedEnd = ',"deleted":true}';

/** Splits an entry at the places where `formatEntryLine` has joined it. */
function parseEntryLine(line: string, readData: (text: string) => string): StoredEntry {
  const start = '{"id":'.length;
  let idEnd = line.indexOf('"', start + 1);
  while (idEnd !== -1 && isEscaped(line, idEnd)) idEnd = line.indexOf('"', idEnd + 1);
  const timeStart = idEnd + 1 + timeKey.length;
  const timeEnd = line.indexOf(',', timeStart);
  if (idEnd === -1 || timeEnd === -1 || !line.startsWith(timeKey, idEnd + 1)) throw new BrokenLine('not an entry');
  const quoted = line.slice(start, idEnd + 1);
  const id = quoted.includes('\\') ? parseString(quoted) : quoted.slice(1, -1);
  if (!isSafeId(id)) throw new BrokenLine(`no object can have the id ${JSON.stringify(id)}`);
  const lastModified = requireTimestamp('last_modified', line.slice(timeStart, timeEnd));
  if (line.startsWith(deletedEnd, timeEnd) && line.length === timeEnd + deletedEnd.length) {
    return { id, lastModified, deleted: true };
  }
  if (!line.startsWith(dataKey, timeEnd) || !line.endsWith('}')) throw new BrokenLine('neither data nor a tombstone');
  return new StoredObject(id, lastModified, readData(line.slice(timeEnd + dataKey.length, -1)));
}

/** Parses a JSON string. */
function parseString(quoted: string): string {
  const text = parseText(quoted);
  if (typeof text !== 'string') throw new BrokenLine('not an entry');
  return text;
}

function parseObject(line: string): JsonObject {
  const value = parseText(line);
  if (!isJsonObject(value)) throw new BrokenLine('not a JSON object');
  return value;
}

function readHeader(value: JsonObject): ExportHeader {
  const format = getKey(value, 'format');
  if (getKey(value, 'coffer') !== 'export' || (format !== 1 && format !== exportFormat)) {
    throw new BrokenLine(`expected an export of format 1 or ${exportFormat}`);
  }
  const secrets = getKey(value, 'secrets');
  return {
    format,
    software: textOf(value, 'software'),
    begun: textOf(value, 'begun'),
    // Files of earlier versions have none.
    secrets: isJsonObject(secrets) ? parseFingerprints(secrets) : {},
  };
}

function readListHead(value: JsonObject): ListHead {
  const [kind, parent] = [textOf(value, 'kind'), textOf(value, 'parent')];
  if (!isSafeKind(kind)) throw new BrokenLine(`no kind of objects can have the name ${JSON.stringify(kind)}`);
  if (!isSafeParent(parent)) throw new BrokenLine(`no list can have the parent ${JSON.stringify(parent)}`);
  return { kind, parent: storedParent(parent), clock: timestampOf(value, 'clock') };
}

function readListEnd(value: JsonObject): ListEnd {
  return {
    clock: timestampOf(value, 'clock'),
    // Files of earlier versions lack it.
    horizon: getKey(value, 'horizon') === undefined ? 0 : timestampOf(value, 'horizon'),
    objects: numberOf(value, 'objects'),
    tombstones: numberOf(value, 'tombstones'),
    digest: textOf(value, 'digest'),
    isMoving: getKey(value, 'isMoving') === true,
  };
}

function readSummary(value: JsonObject): ExportSummary {
  return {
    lists: numberOf(value, 'lists'),
    objects: numberOf(value, 'objects'),
    tombstones: numberOf(value, 'tombstones'),
    permissions: numberOf(value, 'permissions'),
    permissionsDigest: textOf(value, 'permissionsDigest'),
    memberships: numberOf(value, 'memberships'),
    membershipsDigest: textOf(value, 'membershipsDigest'),
    moving: numberOf(value, 'moving'),
  };
}

function readEntries(value: JsonObject): ObjectEntries {
  const entries = Object.entries(partOf(value, 'entries')).map(
    ([name, principals]) => [requireText(name), toPrincipals(textsOf(principals))] as const,
  );
  const uri = textOf(value, 'permissionsOf');
  if (!isSafeParent(uri)) throw new BrokenLine(`no object can have the URI ${JSON.stringify(uri)}`);
  const permissions: ObjectPermissions = Object.fromEntries<readonly Principal[]>(entries);
  return { objectId: storedUri(uri), permissions };
}

function readMemberships(value: JsonObject): Memberships {
  const principals = toPrincipals(textsOf(getKey(value, 'principals')));
  return { userId: toPrincipal(textOf(value, 'principalsOf')), principals };
}

function partOf(value: JsonObject, key: string): JsonObject {
  const part = getKey(value, key);
  if (!isJsonObject(part)) throw new BrokenLine(`${key} is not an object`);
  return part;
}

function textOf(value: JsonObject, key: string): string {
  const text = getKey(value, key);
  if (typeof text !== 'string') throw new BrokenLine(`${key} is not a text`);
  return requireText(text);
}

/** Refuses what requests refuse in names and principals. Control characters are allowed there. */
function requireText(text: string): string {
  if (isStorableText(text)) return text;
  throw new BrokenLine('null characters and lone surrogates are not allowed');
}

function textsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw new BrokenLine('not a list of texts');
  return value.map(requireText);
}

/** Returns a count. */
function numberOf(value: JsonObject, key: string): number {
  const number = getKey(value, key);
  if (typeof number === 'number' && Number.isSafeInteger(number) && number >= 0) return number;
  throw new BrokenLine(`${key} is not a number`);
}

function timestampOf(value: JsonObject, key: string): number {
  const found = getKey(value, key) ?? null;
  return requireTimestamp(
    key,
    typeof found === 'object' && found !== null ? 'an array or an object' : JSON.stringify(found),
  );
}

/** Returns the timestamp in a text of digits. Lists with a later one could not be written to for long, or not at all. */
function requireTimestamp(key: string, text: string): number {
  const timestamp = Number(text);
  if (/^\d+$/.test(text) && isImportedTimestamp(timestamp)) return timestamp;
  throw new BrokenLine(`${key} is not a timestamp from 0 to ${latestImportedTimestamp}: ${text.slice(0, 40)}`);
}
