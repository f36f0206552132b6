// Changes of many records: what to send for each. Each request names the version that was selected, so records that another
// client has changed since then stay as they are.
import type { BatchEntry } from '../../core/batch.ts';
import { displayText, memberText } from '../../core/json-text.ts';

/** A selected record. */
export interface BulkRow {
  readonly id: string;
  /** JSON text. */
  readonly text: string;
}

export type FieldChange =
  | { readonly action: 'set'; readonly field: string; /** JSON text. */ readonly value: string }
  | { readonly action: 'remove'; readonly field: string };

export interface PermissionChange {
  readonly action: 'add' | 'remove';
  readonly permission: string;
  readonly principals: readonly string[];
}

export function readBulkRow(text: string): BulkRow {
  return { id: displayText(memberText(text, 'id') ?? '""'), text };
}

export function deletionOf(listPath: string, row: BulkRow): BatchEntry {
  return { ...addressOf(listPath, row, {}), method: 'DELETE' };
}

export function fieldChangeOf(listPath: string, row: BulkRow, change: FieldChange): BatchEntry {
  const key = JSON.stringify(change.field);
  if (change.action === 'set') {
    return { ...addressOf(listPath, row, {}), method: 'PATCH', body: `{"data":{${key}:${change.value}}}` };
  }
  // A merge patch removes members that are null.
  const entry = addressOf(listPath, row, { 'Content-Type': 'application/merge-patch+json' });
  return { ...entry, method: 'PATCH', body: `{"data":{${key}:null}}` };
}

/** The patch changes only the principals that it names; others, which the caller may not see, stay. */
export function permissionChangeOf(listPath: string, row: BulkRow, change: PermissionChange): BatchEntry {
  const operations = change.principals.flatMap((principal) => {
    const path = `/permissions/${change.permission}/${principal.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    // Only what is there can be removed, so it is added first.
    return change.action === 'add'
      ? [{ op: 'add', path }]
      : [
          { op: 'add', path },
          { op: 'remove', path },
        ];
  });
  const entry = addressOf(listPath, row, { 'Content-Type': 'application/json-patch+json' });
  return { ...entry, method: 'PATCH', body: JSON.stringify(operations) };
}

function addressOf(
  listPath: string,
  { id, text }: BulkRow,
  headers: Readonly<Record<string, string>>,
): Pick<BatchEntry, 'name' | 'path' | 'headers'> {
  const version = memberText(text, 'last_modified') ?? '';
  return {
    name: id,
    path: `${listPath}/${encodeURIComponent(id)}`,
    headers: { 'If-Match': `"${version}"`, ...headers },
  };
}
