// Principals × permissions: a check box for each entry of the object, and what principals inherit from its parents.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { maxChecked, type PrincipalCheck } from '../../core/principals.ts';
import { hashOf } from '../../core/places.ts';
import { Icon } from '../../ui/icons.tsx';
import { Principal, Scroll } from '../../ui/parts.tsx';
import { principalsOf, withEntry, type Entries } from './entries.ts';
import { sourcesOf, type Level } from './rules.ts';

export interface MatrixProps {
  readonly names: readonly string[];
  readonly entries: Entries;
  readonly levels: readonly Level[];
  readonly check: PrincipalCheck;
  /** Without it, the matrix is only shown. */
  readonly onChange?: (entries: Entries) => void;
}

export const hints: Readonly<Record<string, string>> = {
  read: 'may read this and everything in it',
  write: 'may read, change and delete this and everything in it',
  'collection:create': 'may create collections',
  'group:create': 'may create groups',
  'record:create': 'may create records',
};

export function Matrix({ names, entries, levels, check, onChange }: MatrixProps): JSX.Element {
  const own = principalsOf(entries);
  const parents = levels.slice(0, -1);
  // Principals that inherit something and have no row yet.
  const inherited = [
    ...new Set(parents.flatMap(({ permissions }) => [...(permissions?.values() ?? [])].flat())),
  ].filter(
    (principal) => !own.includes(principal) && names.some((name) => sourcesOf(levels, principal, name).length > 0),
  );
  const rows = [...own, ...inherited];
  const doubts = useDoubts(own, check);
  return (
    <Scroll label="Permissions by principal">
      <table class="matrix">
        <caption class="hidden">Permissions by principal</caption>
        <thead>
          <tr>
            <th scope="col">principal</th>
            {names.map((name) => (
              <th key={name} scope="col" title={hints[name]}>
                {name}
              </th>
            ))}
            {onChange === undefined ? null : <td />}
          </tr>
        </thead>
        <tbody>
          {rows.map((principal) => {
            const doubt = doubts.get(principal);
            return (
              <tr key={principal}>
                <th scope="row">
                  <Principal id={principal} />
                  {/^(?:basicauth:|system\.|\/)/.test(principal) ? <code>{principal}</code> : null}
                  {doubt === undefined ? null : <small class="fault">{doubt}</small>}
                </th>
                {names.map((name) => (
                  <td key={name}>
                    <Cell {...{ name, principal, entries, levels, onChange }} />
                  </td>
                ))}
                {onChange === undefined ? null : (
                  <td class="last">
                    {own.includes(principal) ? (
                      <button
                        type="button"
                        class="plain"
                        aria-label={`Remove ${principal}`}
                        title="Remove from all permissions"
                        onClick={() =>
                          onChange(names.reduce((next, name) => withEntry(next, name, principal, false), entries))
                        }
                      >
                        <Icon name="close" />
                      </button>
                    ) : null}
                  </td>
                )}
              </tr>
            );
          })}
          {rows.length === 0 ? (
            <tr>
              <td colSpan={names.length + 2}>No principal has an entry here.</td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </Scroll>
  );
}

interface CellProps extends Pick<MatrixProps, 'entries' | 'levels'> {
  readonly name: string;
  readonly principal: string;
  readonly onChange: MatrixProps['onChange'];
}

function Cell({ name, principal, entries, levels, onChange }: CellProps): JSX.Element {
  const last = levels.at(-1);
  const sources = sourcesOf(levels.slice(0, -1), principal, name, last?.kind);
  const isOwn = entries[name]?.includes(principal) === true;
  const isImplied = !isOwn && name !== 'write' && entries['write']?.includes(principal) === true;
  return (
    <>
      <label class="cell">
        <input
          type="checkbox"
          aria-label={`${principal}: ${name}`}
          checked={isOwn}
          disabled={onChange === undefined}
          onChange={() => onChange?.(withEntry(entries, name, principal, !isOwn))}
        />
        <span class="cell-name">{name}</span>
      </label>
      {isImplied ? <small>by write</small> : null}
      {sources.map(({ level, entry }) => (
        <small key={`${level.kind} ${entry}`}>
          <a href={hashOf(level.place, { _tab: 'permissions' })}>
            {level.kind} {level.id}
          </a>
          : {entry}
        </small>
      ))}
    </>
  );
}

/** Returns why principals are unknown, by principal. */
function useDoubts(principals: readonly string[], check: PrincipalCheck): ReadonlyMap<string, string> {
  const [doubts, setDoubts] = useState<ReadonlyMap<string, string>>(new Map());
  const key = principals.join('\n');
  useEffect(() => {
    let isLeft = false;
    const checked = principals.slice(0, maxChecked);
    const look = async (): Promise<void> => {
      const faults = await Promise.all(checked.map(check));
      if (isLeft) return;
      setDoubts(
        new Map(
          checked.flatMap((principal, index) => {
            const fault = faults[index];
            return fault === undefined ? [] : [[principal, `This principal ${fault}.`]];
          }),
        ),
      );
    };
    void look();
    return () => {
      isLeft = true;
    };
  }, [key, check]);
  return doubts;
}
