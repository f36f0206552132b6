// Advice for bodies that lack the envelope `{data, permissions}`: the sent members in their right place.
import { abbreviateJson, quoteText } from '../base/abbreviate.ts';
import { getKey, isJsonObject, setKey, type JsonObject, type MutableJsonObject } from '../base/json.ts';
import { findClosestMatch } from '../base/closest-match.ts';

const members = ['data', 'permissions'] as const;
const maxNames = 10;
const maxNameChars = 60;
/** Maximum length of the corrected body with nested values; a longer one is shown with fewer levels. */
const maxBodyChars = 400;

/**
 * Returns the sentence about members that are unknown in an envelope.
 *
 * @param unknown names of the members, at least one
 * @param secret names of attributes whose values are not shown
 */
export function describeUnknownMembers(
  body: JsonObject,
  unknown: readonly string[],
  secret: readonly string[] = [],
): string {
  const listed = unknown.slice(0, maxNames).map((name) => quoteText(name, maxNameChars));
  const fault = `unknown members: [${[...listed, ...(unknown.length > maxNames ? ['…'] : [])].join(',')}]`;
  const [first = ''] = unknown;
  const meant = unknown.length === 1 ? findClosestMatch(first.toLowerCase(), members) : undefined;
  if (meant !== undefined && !Object.hasOwn(body, meant)) return `${fault}; did you mean "${meant}"?`;
  return `${fault}. Put attributes in "data": ${corrected(body, unknown, secret)}`;
}

function corrected(body: JsonObject, unknown: readonly string[], secret: readonly string[]): string {
  const own = getKey(body, 'data');
  const data: MutableJsonObject = {};
  // A body may have a hundred thousand members, and only a few are shown.
  if (isJsonObject(own)) for (const name of Object.keys(own).slice(0, maxNames)) setKey(data, name, own[name]!);
  for (const name of unknown.slice(0, maxNames)) setKey(data, name, body[name]!);
  for (const name of secret) if (Object.hasOwn(data, name)) setKey(data, name, '…');
  const permissions = getKey(body, 'permissions');
  const whole = permissions === undefined ? { data } : { data, permissions };
  const text = abbreviateJson(whole, 3);
  return text.length <= maxBodyChars ? text : abbreviateJson(whole, 1);
}
