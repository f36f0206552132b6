// The dry run of an import, and the import itself.
import type { Api } from '../../core/api.ts';
import { runBatches, type BatchEntry, type BatchOptions, type BatchResult } from '../../core/batch.ts';
import { SchemaChecker } from '../../core/schema-check.ts';
import type { Draft } from './source.ts';

export type ImportMode = 'create' | 'replace';

export interface DryRunOptions {
  /** JSON Schemas as texts. */
  readonly schemas: readonly string[];
  readonly signal: AbortSignal;
  readonly onProgress: (done: number) => void;
}

/** Number of rows that the worker checks at once. */
const chunkSize = 200;

/** Returns the rows that would be refused: unreadable ones, and those that a schema refuses. Sends nothing. */
export async function dryRun(
  drafts: readonly Draft[],
  { schemas, signal, onProgress }: DryRunOptions,
): Promise<readonly BatchResult[]> {
  const results = drafts.flatMap((draft) => (draft.fault === undefined ? [] : [refusalOf(draft, draft.fault)]));
  if (schemas.length === 0) return results;
  const readable = drafts.filter(({ fault }) => fault === undefined);
  const checker = new SchemaChecker(schemas);
  try {
    for (let at = 0; at < readable.length && !signal.aborted; at += chunkSize) {
      const chunk = readable.slice(at, at + chunkSize);
      const faults = await checker.check(chunk.map(withId));
      for (const [index, draft] of chunk.entries()) {
        const fault = faults[index];
        if (fault !== undefined) results.push(refusalOf(draft, fault.description));
      }
      onProgress(Math.min(at + chunkSize, readable.length));
    }
    return results;
  } finally {
    checker.close();
  }
}

function withId({ id, data }: Draft): string {
  if (id === '') return data;
  return data === '{}' ? `{"id":${JSON.stringify(id)}}` : `{"id":${JSON.stringify(id)},${data.slice(1)}`;
}

/** Stores the rows that can be read. Returns a result for each row. */
export async function importDrafts(
  api: Api,
  listPath: string,
  { drafts, mode }: { readonly drafts: readonly Draft[]; readonly mode: ImportMode },
  options: BatchOptions,
): Promise<readonly BatchResult[]> {
  const unreadable = drafts.flatMap((draft) => (draft.fault === undefined ? [] : [refusalOf(draft, draft.fault)]));
  const readable = drafts.filter(({ fault }) => fault === undefined);
  const sent = await runBatches(
    api,
    readable.map((draft) => entryOf(listPath, draft, mode)),
    options,
  );
  return [
    ...unreadable,
    ...sent.map((result) =>
      result.status === 'changed'
        ? { ...result, status: 'refused' as const, message: 'A record with this id already exists.' }
        : result,
    ),
  ];
}

function entryOf(listPath: string, draft: Draft, mode: ImportMode): BatchEntry {
  const { id, data } = draft;
  const name = nameOf(draft);
  if (id === '') return { name, method: 'POST', path: listPath, body: `{"data":${data}}` };
  return {
    name,
    method: 'PUT',
    path: `${listPath}/${encodeURIComponent(id)}`,
    body: `{"data":${data}}`,
    ...(mode === 'create' ? { headers: { 'If-None-Match': '*' } } : {}),
  };
}

function refusalOf(draft: Draft, message: string): BatchResult {
  return { name: nameOf(draft), status: 'refused', code: 0, message };
}

function nameOf({ place, id }: Draft): string {
  return id === '' ? `Row ${place}` : `Row ${place} (${id})`;
}
