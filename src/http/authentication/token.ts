// Tokens: the header with the token, and the fields of a response about it.
import { ExactNumber, getKey, isStorableText, type JsonObject, type JsonValue } from '../../base/json.ts';

/** Maximum length of a token: that of the headers of a request by default. Headers of batch entries can be much longer. */
const maxTokenChars = 32_768;

const tokenForm = /^[A-Za-z0-9._~+/=:-]+$/;

/** Returns the token of an `Authorization` header with this scheme; `undefined` for any other header and for longer tokens. */
export function parseToken(header: string | undefined, scheme: string): string | undefined {
  if (header === undefined) return undefined;
  const space = header.indexOf(' ');
  if (space === -1 || header.slice(0, space).toLowerCase() !== scheme.toLowerCase()) return undefined;
  const token = header.slice(space + 1).trim();
  return token.length <= maxTokenChars && tokenForm.test(token) ? token : undefined;
}

const maxIdLength = 1024;

/**
 * Returns the user id in a field of a response. Refuses an e-mail address that the remote server does not call verified,
 * unless it says nothing about it: the address may not belong to the user.
 */
export function findUserId(answer: JsonObject, field: string): string | undefined {
  const value = getKey(answer, field);
  const id = value instanceof ExactNumber ? value.text : typeof value === 'number' ? String(value) : value;
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength || !isStorableText(id) || /\p{Cc}/u.test(id))
    return undefined;
  const isVerified = getKey(answer, 'email_verified');
  if (field === 'email' && isVerified !== undefined && !isYes(isVerified)) return undefined;
  return id;
}

/** Whether a flag is true. Some servers send it as a string. */
function isYes(value: JsonValue): boolean {
  return value === true || value === 'true';
}

const digits = /^\d{1,15}$/;

/**
 * Returns a time of a token as milliseconds since 1970, from seconds as a number or as digits in a string. Returns `undefined`
 * when it is absent or null, and NaN when it is anything else: every comparison with NaN is false, so the token is refused.
 */
export function findTime(answer: JsonObject, field: string): number | undefined {
  const value = getKey(answer, field);
  if (value === undefined || value === null) return undefined;
  const seconds =
    value instanceof ExactNumber || (typeof value === 'string' && digits.test(value)) ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) ? seconds * 1000 : Number.NaN;
}

/** Whether `aud` of a response, a string or a list, contains the audience. */
export function isFor(answer: JsonObject, audience: string): boolean {
  const value = getKey(answer, 'aud');
  return Array.isArray(value) ? value.includes(audience) : value === audience;
}
