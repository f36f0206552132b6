// Writes records as a file: JSON, JSON lines or CSV.
import { indentJson, membersOf } from '../../core/json-text.ts';
import { cellOfValue, formatCsvRow } from './csv.ts';
import type { Format } from './source.ts';

export const mediaTypes: Readonly<Record<Format, string>> = {
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  csv: 'text/csv',
};

/** Returns the file as parts of text. */
export function formatRecords(rows: readonly string[], format: Format): readonly string[] {
  if (format === 'jsonl') return rows.map((row) => `${row}\n`);
  if (format === 'json') {
    const parts = rows.map((row, index) => `${index === 0 ? '' : ',\n'}${indentJson(row)}`);
    return ['[\n', ...parts, '\n]\n'];
  }
  const members = rows.map((row) => new Map(membersOf(row).map(({ key, text }) => [key, text])));
  const fields = new Set(members.flatMap((each) => [...each.keys()]));
  const columns = ['id', ...[...fields].filter((field) => field !== 'id')];
  return [
    `${formatCsvRow(columns.map((column) => cellOfValue(JSON.stringify(column))))}\r\n`,
    ...members.map((each) => `${formatCsvRow(columns.map((column) => cellOfValue(each.get(column))))}\r\n`),
  ];
}
