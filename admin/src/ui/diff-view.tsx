// Two texts as one: removed and added lines, with the unchanged lines near them.
import type { JSX } from 'preact';
import { diffLines, type LineChange } from '../core/diff.ts';

const signs = { same: ' ', added: '+', removed: '−' } as const;
const words = { same: '', added: 'added: ', removed: 'removed: ' } as const;

export interface DiffViewProps {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

export function DiffView({ before, after, label }: DiffViewProps): JSX.Element {
  const changes = diffLines(before, after);
  if (changes.every(({ kind }) => kind === 'same')) return <p class="hint">There is no difference.</p>;
  return (
    <div class="diff" role="region" aria-label={label} tabIndex={0}>
      {changes.map((change, index) => (
        <DiffLine key={index} change={change} />
      ))}
    </div>
  );
}

function DiffLine({ change: { kind, text } }: { readonly change: LineChange }): JSX.Element {
  return (
    <div class={`diff-line ${kind}`}>
      <span class="sign" aria-hidden="true">
        {signs[kind]}
      </span>
      <span class="hidden">{words[kind]}</span>
      <code>{text}</code>
    </div>
  );
}
