// Page tokens: the position of the last object of a page, as text that clients send back. A token is input like any other,
// so its content is validated. With a key it is authenticated as well.
import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  formatJson,
  getKey,
  isJsonObject,
  defaultJsonLimits,
  parseJson,
  setKey,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from '../../base/json.ts';
import type { PagePosition, SortKey } from './ast.ts';

/** The content of a token, which is opaque to clients: the position where the next page begins. */
export interface PageToken {
  readonly position: PagePosition;
  /** Number of objects before the next page. Informative only. */
  readonly offset: number;
  /** Random text that lets tokens of deletions be used only once. */
  readonly nonce: string;
}

/** Prefix of nonces; the rest is a UUID. */
export const noncePrefix = 'pagination-token-';

/** Maximum length of a token; longer tokens are refused without being decoded. */
export const maxTokenLength = 65_536;
const maxNonceLength = 200;
/** Stored objects are at most 500 levels deep, and a token wraps their members twice. */
const maxDepth = 512;

/**
 * Returns the text of a token, in plain base64 that has to be percent-encoded in a URL.
 *
 * @param options.key authenticates the token
 */
export function formatToken(
  position: PagePosition,
  sort: readonly SortKey[],
  options: { readonly nonce: string; readonly offset: number; readonly key?: Buffer | undefined },
): string {
  const last: MutableJsonObject = {};
  for (const [index, { field }] of sort.entries()) {
    const value = position[index];
    if (value !== undefined) setKey(last, field.name, value);
  }
  const content: JsonObject = { last_object: last, offset: options.offset, nonce: options.nonce };
  const payload = Buffer.from(formatJson(content), 'utf8').toString('base64');
  return options.key === undefined ? payload : `${payload}.${sign(payload, options.key).toString('base64url')}`;
}

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/;
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a token for a list in this order. Returns `undefined` for text that is not a token, for a token of another order,
 * and for a token that the key has not authenticated.
 *
 * @param options.requiredFields sort fields that every object of the list has
 * @param options.key key of authenticated tokens; without one, authenticated tokens are refused
 */
export function parseToken(
  text: string,
  sort: readonly SortKey[],
  options: { readonly requiredFields: readonly string[]; readonly key?: Buffer | undefined },
): PageToken | undefined {
  if (text.length > maxTokenLength) return undefined;
  const payload = options.key === undefined ? text : authenticate(text, options.key);
  if (payload === undefined || !base64.test(payload)) return undefined;
  const content = decode(payload);
  if (!isJsonObject(content)) return undefined;
  const last = getKey(content, 'last_object');
  const offset = getKey(content, 'offset');
  const nonce = getKey(content, 'nonce');
  if (!isJsonObject(last) || !isCount(offset) || typeof nonce !== 'string' || nonce.length > maxNonceLength) {
    return undefined;
  }
  const position = sort.map(({ field }) => getKey(last, field.name));
  for (const [index, { field }] of sort.entries()) {
    if (options.requiredFields.includes(field.name) && !isFitting(field.name, position[index])) return undefined;
  }
  return { position, offset, nonce };
}

function decode(payload: string): JsonValue | undefined {
  try {
    return parseJson(strictUtf8.decode(Buffer.from(payload, 'base64')), { ...defaultJsonLimits, maxDepth });
  } catch {
    // Bytes other than UTF-8 and text other than JSON are not a token; the caller reports that to the client.
    return undefined;
  }
}

/** Whether a value fits a field that identifies objects: timestamps are integers, all others are text. */
function isFitting(name: string, value: JsonValue | undefined): boolean {
  return name === 'last_modified' ? isCount(value) : typeof value === 'string';
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function authenticate(text: string, key: Buffer): string | undefined {
  const dot = text.indexOf('.');
  if (dot === -1) return undefined;
  const payload = text.slice(0, dot);
  const given = Buffer.from(text.slice(dot + 1), 'base64url');
  const expected = sign(payload, key);
  return given.length === expected.length && timingSafeEqual(given, expected) ? payload : undefined;
}

function sign(payload: string, key: Buffer): Buffer {
  return createHmac('sha256', key).update(`page-token\n${payload}`).digest();
}
