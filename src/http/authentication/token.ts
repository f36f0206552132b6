// What requests and remote servers say about a token: the header that carries it, and the user that an answer names.
import { ExactNumber, getKey, isStorableText, type JsonObject, type JsonValue } from '../../base/json.ts';

const tokenForm = /^[A-Za-z0-9._~+/=:-]+$/;

/** The token of an `Authorization` header with this first word; `undefined` for any other header. */
export function parseToken(header: string | undefined, scheme: string): string | undefined {
  if (header === undefined) return undefined;
  const space = header.indexOf(' ');
  if (space === -1 || header.slice(0, space).toLowerCase() !== scheme.toLowerCase()) return undefined;
  const token = header.slice(space + 1).trim();
  return tokenForm.test(token) ? token : undefined;
}

const maxIdLength = 1024;

/**
 * The user id in a field of an answer. An address that the remote server itself calls unverified is nobody's: whoever
 * likes could have written it there.
 */
export function findUserId(answer: JsonObject, field: string): string | undefined {
  const value = getKey(answer, field);
  const id = value instanceof ExactNumber ? value.text : typeof value === 'number' ? String(value) : value;
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength || !isStorableText(id) || /\p{Cc}/u.test(id))
    return undefined;
  if (field === 'email' && isNo(getKey(answer, 'email_verified'))) return undefined;
  return id;
}

/** Some servers write the flag as a text. */
function isNo(value: JsonValue | undefined): boolean {
  return value === false || value === 'false';
}

/** A time in seconds since 1970, as tokens have it, in milliseconds; `undefined` when it is none. */
export function findTime(answer: JsonObject, field: string): number | undefined {
  const value = getKey(answer, field);
  const seconds = value instanceof ExactNumber ? value.valueOf() : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** Whether `aud` of an answer, a text or a list of texts, names the audience. */
export function isFor(answer: JsonObject, audience: string): boolean {
  const value = getKey(answer, 'aud');
  return Array.isArray(value) ? value.includes(audience) : value === audience;
}
