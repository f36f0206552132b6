// Advice for bodies that lack the envelope `{data, permissions}`: what the client sent, put where it belongs.
import { abbreviateJson, quoteText } from '../base/abbreviate.ts';
import { getKey, isJsonObject, setKey, type JsonObject, type MutableJsonObject } from '../base/json.ts';
import { findClosestMatch } from '../base/closest-match.ts';

const members = ['data', 'permissions'] as const;
const maxNames = 10;
const maxNameChars = 60;
/** A corrected body longer than this is shown with one level less. */
const maxBodyChars = 400;

/**
 * Returns the sentence about members that an envelope does not have.
 *
 * @param unknown their names, at least one
 * @param secret names of attributes whose values are not repeated
 */
export function describeUnknownMembers(
  body: JsonObject,
  unknown: readonly string[],
  secret: readonly string[] = [],
): string {
  const listed = unknown.slice(0, maxNames).map((name) => quoteText(name, maxNameChars));
  const told = `unknown members: [${[...listed, ...(unknown.length > maxNames ? ['…'] : [])].join(',')}]`;
  const [first = ''] = unknown;
  const meant = unknown.length === 1 ? findClosestMatch(first.toLowerCase(), members) : undefined;
  if (meant !== undefined && !Object.hasOwn(body, meant)) return `${told}; did you mean "${meant}"?`;
  return `${told}. Put attributes in "data": ${corrected(body, unknown, secret)}`;
}

function corrected(body: JsonObject, unknown: readonly string[], secret: readonly string[]): string {
  const own = getKey(body, 'data');
  const data: MutableJsonObject = {};
  // A body may have a hundred thousand members, of which few are shown.
  if (isJsonObject(own)) for (const name of Object.keys(own).slice(0, maxNames)) setKey(data, name, own[name]!);
  for (const name of unknown.slice(0, maxNames)) setKey(data, name, body[name]!);
  for (const name of secret) if (Object.hasOwn(data, name)) setKey(data, name, '…');
  const permissions = getKey(body, 'permissions');
  const whole = permissions === undefined ? { data } : { data, permissions };
  const text = abbreviateJson(whole, 3);
  return text.length <= maxBodyChars ? text : abbreviateJson(whole, 1);
}
