// Names of files: what clients say, cleaned for people to read, and what the store is asked to call them, which is made
// of a few harmless characters only.
import { randomUUID } from 'node:crypto';
import { extensionOf, isExecutable } from './file-types.ts';
import type { CollectionIds, FileRules } from './rules.ts';

const maxShownLength = 255;
const maxStemLength = 100;
/** File systems accept 255 bytes, and the store may add a number. Ids may be longer. */
const maxPartLength = 200;
const maxExtensionLength = 20;

/**
 * The name that a client gave, without path, control characters and marks that change the direction of text; `''` when
 * nothing is left.
 */
export function cleanFilename(given: string): string {
  const base = given.normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const readable = base.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '').trim();
  if (/^\.*$/.test(readable)) return '';
  return shorten(readable, maxShownLength);
}

/** Keeps the extension of what is too long. */
function shorten(name: string, length: number): string {
  const characters = Array.from(name);
  if (characters.length <= length) return name;
  const extension = extensionOf(name).slice(0, maxExtensionLength);
  const end = extension === '' ? '' : `.${extension}`;
  return characters.slice(0, length - end.length).join('') + end;
}

export interface NameParts {
  /** As `cleanFilename` made it. */
  readonly filename: string;
  readonly recordId: string;
  readonly ids: CollectionIds;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** The name to ask the store for. */
export function storedName({ folder, randomizes, pattern }: FileRules, parts: NameParts): string {
  const { filename, recordId, ids, now } = parts;
  const extension = safeExtension(filename);
  const own = randomizes ? randomUUID() + extension : safeFilename(filename, extension);
  const placeholders: Readonly<Record<string, string>> = {
    filename: own,
    datetime: new Date(now).toISOString().replaceAll(/\D/g, '').slice(0, 14),
    rid: recordId,
  };
  const filled = fill(pattern, placeholders);
  // A pattern without the name has no extension either.
  const whole = pattern.includes('{filename}') ? filled : filled + extension;
  const parentPath = fill(folder, { bucket_id: ids.bucket, collection_id: ids.collection });
  const folders = parentPath
    .split('/')
    .map(safePart)
    .filter((part) => part !== '');
  return [...folders, safePart(whole) || randomUUID()].join('/');
}

function fill(pattern: string, values: Readonly<Record<string, string>>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : whole,
  );
}

/** With its point, or empty. */
function safeExtension(filename: string): string {
  const extension = extensionOf(filename);
  return /^[a-z0-9]+$/.test(extension) && extension.length <= maxExtensionLength ? `.${extension}` : '';
}

/** A name in plain letters; `image.php.png` must not be taken for a script by whatever serves the folder. */
function safeFilename(filename: string, extension: string): string {
  const stem = extension === '' ? filename : filename.slice(0, -extension.length);
  const plain = safePart(stem)
    .split('.')
    .map((part, index) => (index > 0 && isExecutable(part.toLowerCase()) ? `_${part}` : `.${part}`))
    .join('')
    .slice(1, maxStemLength + 1);
  const name = plain === '' || isDevice(plain) ? `file_${plain}`.replace(/_$/, '') : plain;
  return name + extension;
}

/** One part of a path: letters without accents, digits and few marks, not too many; no point at either end. */
function safePart(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replaceAll(/\s+/g, '_')
    .replaceAll(/[^A-Za-z0-9_.-]/g, '');
  return shorten(plain, maxPartLength).replaceAll(/^[._]+|[._]+$/g, '');
}

/** Names that mean machines and not files on some systems. */
function isDevice(stem: string): boolean {
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(stem);
}
