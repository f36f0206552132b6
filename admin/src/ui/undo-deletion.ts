// Undoes deletions of the last moment: stores the last version before the deletion again, as the history has it.
import { editableText, serverOwned } from '../core/attributes.ts';
import { runBatches, type BatchEntry, type BatchResult } from '../core/batch.ts';
import { elementsOf, memberText } from '../core/json-text.ts';
import { pathOf, type Kind, type Place } from '../core/places.ts';
import type { App } from './app-context.ts';

export interface Deleted {
  /** The list that the objects were in. */
  readonly parent: Place;
  readonly kind: Kind;
  readonly ids: readonly string[];
}

/** Returns whether a deletion can be undone: a bucket takes its history with it. */
export function isUndoable({ service }: App, kind: Kind): boolean {
  return service.capabilities.has('history') && kind.name !== 'bucket';
}

/** Stores the objects again, with their permissions. Objects that others have created since then stay. */
export async function undoDeletion(app: App, { parent, kind, ids }: Deleted): Promise<readonly BatchResult[]> {
  const { api, service } = app;
  // Entries of the history name the bucket by its own id.
  const place = parent.map((step) =>
    step.id === 'default' && step.kind.name === 'bucket' ? { ...step, id: service.personalBucket ?? step.id } : step,
  );
  const missing: BatchResult[] = [];
  const entries: BatchEntry[] = [];
  for (const id of ids) {
    const path = pathOf([...place, { kind, id }]);
    const query = new URLSearchParams({ uri: `/${path}`, not_action: 'delete', _sort: '-last_modified', _limit: '1' });
    const { text } = await api.request('GET', `${pathOf(place.slice(0, 1))}/history`, { query });
    const [row] = elementsOf(memberText(text, 'data') ?? '[]');
    const target = row === undefined ? undefined : memberText(row, 'target');
    const data = target === undefined ? undefined : memberText(target, 'data');
    if (target === undefined || data === undefined) {
      missing.push({ name: id, status: 'refused', code: 0, message: 'The history does not have it.' });
      continue;
    }
    const attributes = editableText(data, serverOwned(kind.name, data, service.capabilities));
    const permissions = memberText(target, 'permissions') ?? '{}';
    const body = `{"data":${attributes},"permissions":${permissions}}`;
    entries.push({ name: id, method: 'PUT', path, headers: { 'If-None-Match': '*' }, body });
  }
  const { batchLimit } = service;
  return [...missing, ...(await runBatches(api, entries, { batchLimit }))];
}
