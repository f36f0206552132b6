// Reads all records of a list that match a filter, page by page.
import type { Api } from '../../core/api.ts';
import { loadPage } from '../../core/objects.ts';

/** Maximum number of records of an export, and of its characters. A browser holds all of them. */
const maxRecords = 500_000;
const maxChars = 200_000_000;
const pageSize = 500;

export interface ExportOptions {
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
  readonly onProgress: (count: number) => void;
}

/**
 * Returns the records as JSON texts.
 *
 * @throws Error when there are too many
 */
export async function readRecords(
  api: Api,
  path: string,
  { query, signal, onProgress }: ExportOptions,
): Promise<readonly string[]> {
  const all: string[] = [];
  let chars = 0;
  const first = new URLSearchParams(query);
  first.set('_limit', String(pageSize));
  let next: string | undefined = first.toString();
  while (next !== undefined) {
    const page = await loadPage(api, path, next, signal);
    all.push(...page.rows);
    chars += page.rows.reduce((sum, row) => sum + row.length, 0);
    onProgress(all.length);
    if (all.length > maxRecords || chars > maxChars) {
      throw new Error('These records are too many for one file. Add a filter, or use the HTTP API.');
    }
    ({ next } = page);
  }
  return all;
}
