// Names of files: the cleaned name that the client gave, and the name in the store, which contains only safe
// characters.
import { randomUUID } from 'node:crypto';
import { limitMarks } from '../../core/text/marks.ts';
import { extensionOf, isExecutable } from './file-types.ts';
import type { CollectionIds, FileRules } from './rules.ts';

const maxShownLength = 255;
const maxStemLength = 100;
/** Maximum length of a path part. File systems accept 255 bytes, the store may add a number, and ids may be longer. */
const maxPartLength = 200;
const maxExtensionLength = 20;
const defaultExtension = '.bin';

/**
 * Returns the name that the client gave without path, control characters and bidirectional marks; `''` if nothing
 * remains.
 */
export function cleanFilename(given: string): string {
  const base = limitMarks(given).normalize('NFC').split(/[/\\]/).at(-1) ?? '';
  const readable = base.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '').trim();
  if (/^\.*$/.test(readable)) return '';
  return shorten(readable, maxShownLength);
}

/** Shortens a name and keeps its extension. */
function shorten(name: string, length: number): string {
  const characters = Array.from(name);
  if (characters.length <= length) return name;
  const extension = extensionOf(name).slice(0, maxExtensionLength);
  const end = extension === '' ? '' : `.${extension}`;
  return characters.slice(0, length - end.length).join('') + end;
}

export interface NameParts {
  /** Result of `cleanFilename`. */
  readonly filename: string;
  readonly recordId: string;
  readonly ids: CollectionIds;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/**
 * Returns the name to request from the store. In a folder a file could take the name that another collection needs for its
 * folder. So names of files have a dot, and names of folders have none.
 */
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
  const whole = pattern.includes('{filename}') ? filled : filled + extension;
  const parentPath = fill(folder, { bucket_id: ids.bucket, collection_id: ids.collection });
  const folders = parentPath
    .split('/')
    .map((part) => safePart(part).replaceAll('.', '_'))
    .filter((part) => part !== '');
  const file = safePart(whole) || randomUUID();
  return [...folders, file.includes('.') ? file : file + defaultExtension].join('/');
}

function fill(pattern: string, values: Readonly<Record<string, string>>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? values[name]! : whole,
  );
}

/** Returns the extension with its dot, or an empty string. */
function safeExtension(filename: string): string {
  const extension = extensionOf(filename);
  return /^[a-z0-9]+$/.test(extension) && extension.length <= maxExtensionLength ? `.${extension}` : '';
}

/** Returns the name in plain characters. `image.php.png` must not run as a script if a web server serves the folder. */
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

/** Returns one part of a path: ASCII letters, digits, `_`, `-` and inner dots, with limited length. */
function safePart(text: string): string {
  const plain = limitMarks(text)
    .normalize('NFKD')
    .replaceAll(/\s+/g, '_')
    .replaceAll(/[^A-Za-z0-9_.-]/g, '');
  return shorten(plain, maxPartLength).replaceAll(/^[._]+|[._]+$/g, '');
}

/** Returns whether the name is reserved for a device on Windows. */
function isDevice(stem: string): boolean {
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(stem);
}
