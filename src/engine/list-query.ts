// From the query string of a list request to what storage is asked, in the two moments at which the protocol wants
// faults reported.
import { invalidParameters } from '../core/errors.ts';
import { parseParameters, type ListParameters, type ParameterUse } from '../core/query/parameters.ts';
import { resolveQuery, type ListQuery, type ListTraits } from '../core/query/resolve.ts';
import { formatAlert } from './alert.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';
import type { EngineOptions, Scope } from './scope.ts';

/** The shape of the parameters; faults are added to the issues of the request. */
export function readParameters(context: Context, use: ParameterUse): ListParameters {
  const parameters = parseParameters(context.query, { now: context.now, use });
  context.issues.push(...parameters.issues);
  return parameters;
}

/**
 * The same for a stored list. Timestamps far ahead of the time are refused, but not those the list has given out
 * itself: a client may have moved its clock ahead, and who follows it asks for what came since.
 */
export async function readListParameters({ context, list }: Scope, use: ParameterUse): Promise<ListParameters> {
  const parameters = parseParameters(context.query, { now: context.now, use });
  if (parameters.issues.length === 0) return parameters;
  const clock = (await context.unit.reader.storage.resourceTimestamp(list)) ?? 0;
  const tolerant = clock > context.now ? parseParameters(context.query, { now: clock, use }) : parameters;
  context.issues.push(...tolerant.issues);
  return tolerant;
}

/**
 * The meaning of the parameters.
 *
 * @throws ServiceError invalidParameters
 */
export function readQuery(
  parameters: ListParameters,
  context: Context,
  options: EngineOptions,
  traits: ListTraits = {},
): ListQuery {
  return resolveQuery(parameters, { traits, limits: options, now: context.now, tokenKey: options.tokenKey });
}

/** The warning about `_to`; `undefined` when it was not used. */
export function deprecationHeaders(
  { usesDeprecatedTo }: ListParameters,
  options: EngineOptions,
): ResponseHeaders | undefined {
  if (!usesDeprecatedTo) return undefined;
  return { Alert: formatAlert('soft-eol', 'The parameter _to is now called _before.', options.documentationUrl) };
}

/** The error for a page token that was used already, or was never given out for this. */
export function staleToken(): Error {
  return invalidParameters([
    { location: 'querystring', name: null, description: 'this page token was used or has expired' },
  ]);
}
