// Which field of the file becomes which attribute, and how cells of CSV are read.
import type { JSX } from 'preact';
import { previewText } from '../../core/json-text.ts';
import { Scroll } from '../../ui/parts.tsx';
import { cellKindOf, type CellKind, type FieldMapping, type Source } from './source.ts';

const kindLabels: Readonly<Record<CellKind, string>> = {
  auto: 'what it looks like',
  text: 'text',
  number: 'number',
  boolean: 'true, false',
  json: 'JSON',
};
const kindNames: readonly CellKind[] = ['auto', 'text', 'number', 'boolean', 'json'];

export interface MappingTableProps {
  readonly source: Source;
  readonly mapping: readonly FieldMapping[];
  /** JSON Schema of the records; it decides how cells are read. */
  readonly schema: string | undefined;
  readonly onChange: (mapping: readonly FieldMapping[]) => void;
}

export function MappingTable({ source, mapping, schema, onChange }: MappingTableProps): JSX.Element {
  const change = (index: number, part: Partial<FieldMapping>): void =>
    onChange(mapping.map((each, at) => (at === index ? { ...each, ...part } : each)));
  const isCsv = source.format === 'csv';
  const rename = (index: number, target: string): void =>
    change(index, { target, ...(isCsv ? { kind: cellKindOf(target, schema) } : {}) });
  return (
    <Scroll label="Mapping of fields">
      <table class="mapping">
        <thead>
          <tr>
            <th scope="col">Field of the file</th>
            <th scope="col">First value</th>
            <th scope="col">Attribute</th>
            {isCsv ? <th scope="col">Read as</th> : null}
          </tr>
        </thead>
        <tbody>
          {mapping.map(({ source: field, target, kind }, index) => (
            <tr key={field}>
              <th scope="row">{previewText(JSON.stringify(field), 60)}</th>
              <td>{firstValue(source, field)}</td>
              <td>
                <input
                  aria-label={`Attribute for ${field}`}
                  autocomplete="off"
                  spellcheck={false}
                  value={target}
                  onInput={({ currentTarget: { value } }) => rename(index, value.trim())}
                />
              </td>
              {isCsv ? (
                <td>
                  <select
                    aria-label={`Read ${field} as`}
                    value={kind}
                    onChange={({ currentTarget: { value } }) =>
                      change(index, { kind: kindNames.find((each) => each === value) ?? 'auto' })
                    }
                  >
                    {kindNames.map((each) => (
                      <option key={each} value={each}>
                        {kindLabels[each]}
                      </option>
                    ))}
                  </select>
                </td>
              ) : null}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function firstValue({ rows }: Source, field: string): string {
  const value = rows.find(({ members }) => (members.get(field) ?? '') !== '')?.members.get(field) ?? '';
  return value.length > 60 ? `${value.slice(0, 60)}…` : value;
}
