// Lists that are computed for each request, with the filters, sorting, pages and fields of stored lists.
import type { JsonObject } from '../base/json.ts';
import { formatInSteps, largeTextChars } from '../base/json-steps.ts';
import { runFromNow, type Steps } from '../base/steps.ts';
import type { ListQuery } from '../core/query/resolve.ts';
import { filterValues, positionOfValue, selectValues } from '../core/query/sort.ts';
import { project, workOfProjection, type Projection } from '../core/query/project.ts';
import type { Context } from './context.ts';
import type { ResponseHeaders, ServiceResponse } from './exchange.ts';
import { listBody } from './page-text.ts';
import { newNonce, nextPageUrl } from './pages.ts';
import type { EngineOptions } from './scope.ts';
import { warnOfIgnored } from './warnings.ts';

/**
 * Creates the response with the page for GET, or with the totals for HEAD.
 *
 * @param headers of the response, independent of the page
 */
export async function virtualPage(
  context: Context,
  options: EngineOptions,
  entries: readonly JsonObject[],
  query: ListQuery,
  headers: ResponseHeaders,
): Promise<ServiceResponse> {
  const all: ResponseHeaders = { ...headers, ...warnOfIgnored(context.query) };
  if (context.request.method === 'HEAD') {
    const total = String((await runFromNow(filterValues(entries, query), 'normal')).length);
    return { status: 200, headers: { ...all, 'Total-Objects': total, 'Total-Records': total }, body: '' };
  }
  const { values, more } = await runFromNow(selectValues(entries, query), 'normal');
  const last = values.at(-1);
  if (more && last !== undefined) {
    const { sort, limit, token } = query;
    const offset = (token?.offset ?? 0) + values.length;
    const next = { sort, limit, position: positionOfValue(last, sort), offset };
    all['Next-Page'] = nextPageUrl(context, options, next, newNonce());
  }
  const { projection } = query;
  const shown = projection === undefined ? values : await runFromNow(projectAll(values, projection), 'normal');
  const text = await runFromNow(formatInSteps(shown), 'normal');
  return { status: 200, headers: all, body: listBody('{"data":[', [text.slice(1, -1)]) };
}

function* projectAll(values: readonly JsonObject[], projection: Projection): Steps<readonly JsonObject[]> {
  const work = workOfProjection(projection);
  const shown: JsonObject[] = [];
  let done = 0;
  for (const value of values) {
    shown.push(project(value, projection));
    done += work;
    if (done < largeTextChars) continue;
    done = 0;
    yield;
  }
  return shown;
}
