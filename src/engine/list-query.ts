// Converts the query string of a list request to a storage query, in two steps: the protocol reports faults of form and of
// meaning at different times.
import { invalidParameters } from '../core/errors.ts';
import { QueryBudget } from '../core/query/budget.ts';
import { issueOf, parseParameters, type ListParameters, type ParameterUse } from '../core/query/parameters.ts';
import { resolveQuery, type ListQuery, type ListTraits } from '../core/query/resolve.ts';
import { formatAlert } from './warnings.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders } from './exchange.ts';
import type { EngineOptions, Scope } from './scope.ts';
import type { UnitOfWork } from './unit-of-work.ts';

/** Parses the parameters. Faults of form go to the issues of the request. */
export function readParameters(context: Context, use: ParameterUse): ListParameters {
  const parameters = parseParameters(context.query, { now: context.now, use });
  context.issues.push(...parameters.issues);
  const { live, gone, text } = parameters;
  const unusable = [live !== undefined && '_live', gone && '_gone', text !== undefined && '_q'];
  for (const name of unusable) {
    if (name !== false) context.issues.push(issueOf(name, 'not accepted by this list, which is not stored'));
  }
  return parameters;
}

/**
 * Parses the parameters for a stored list. Timestamps far in the future are refused, except up to the timestamp of the
 * list: a client may have moved it ahead, and followers send it as `_since`.
 */
export async function readListParameters({ context, list }: Scope, use: ParameterUse): Promise<ListParameters> {
  const parameters = parseParameters(context.query, { now: context.now, use });
  if (parameters.issues.length === 0) return parameters;
  const clock = (await context.unit.reader.storage.resourceTimestamp(list)) ?? 0;
  const tolerant = clock > context.now ? parseParameters(context.query, { now: clock, use }) : parameters;
  context.issues.push(...tolerant.issues);
  return tolerant;
}

/** Reports `_live` in a request that is no GET of a list. */
export function refuseLive({ query, issues }: Context): void {
  if (query.some(([name]) => name === '_live')) issues.push(issueOf('_live', 'only GET of a list has live updates'));
}

/**
 * Part of the maximum work that is left to the queries of a unit of work, together, while others wait for it: a second or two.
 */
const partUnderLock = 1 / 20;

/** Work of the queries of a unit of work that has written. */
const budgetsUnderLock = new WeakMap<UnitOfWork, QueryBudget>();

/** Returns the work, in millions, that is left to all queries of a unit of work that holds locks. */
export function workUnderLock({ maxQueryWork }: EngineOptions): number {
  return maxQueryWork * partUnderLock;
}

/**
 * Resolves parsed parameters into a query.
 *
 * @throws ServiceError invalidParameters
 */
export function readQuery(
  parameters: ListParameters,
  context: Context,
  options: EngineOptions,
  traits: ListTraits = {},
): ListQuery {
  const { now, unit } = context;
  const budget = unit.isWriting ? budgetUnderLock(unit, options) : new QueryBudget(options.maxQueryWork);
  return resolveQuery(parameters, { traits, limits: options, budget, now, tokenKey: options.tokenKey });
}

const whileOthersWait = ' while others wait';

/** Returns what is left to the queries of a unit of work that holds locks. */
export function budgetUnderLock(unit: UnitOfWork, options: EngineOptions): QueryBudget {
  const known = budgetsUnderLock.get(unit);
  if (known !== undefined) return known;
  const budget = new QueryBudget(workUnderLock(options), whileOthersWait);
  budgetsUnderLock.set(unit, budget);
  return budget;
}

/** Returns the warning about `_to`; `undefined` when it was not used. */
export function deprecationHeaders(
  { usesDeprecatedTo }: ListParameters,
  options: EngineOptions,
): ResponseHeaders | undefined {
  if (!usesDeprecatedTo) return undefined;
  return { Alert: formatAlert('soft-eol', 'The parameter _to is now called _before.', options.documentationUrl) };
}

/** Creates the error for a page token that was used before or not issued for this deletion. */
export function staleToken(): Error {
  return invalidParameters([
    { location: 'querystring', name: null, description: 'this page token was used or has expired' },
  ]);
}
