// The dialog of a three-way merge: a row for each member that one of two versions has changed, with its value before, and a
// choice where both have changed it.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { indentJson, previewText } from '../core/json-text.ts';
import { mergedText, mergeFields, type MergeField, type MergeSide } from '../core/merge.ts';
import { Dialog, openDialog } from './dialog.tsx';
import { Scroll } from './parts.tsx';

export interface MergeQuestion {
  readonly title: string;
  readonly text: string;
  /** Objects as JSON texts. */
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
  readonly labels: { readonly base: string; readonly mine: string; readonly theirs: string };
  /** Labels of the buttons. */
  readonly actions: {
    readonly merge: string;
    readonly stay: string;
    readonly mine?: string;
    readonly theirs?: string;
  };
}

/** What to save: the merged object, one of both versions, or nothing yet. */
export type MergeAnswer =
  | { readonly choice: 'merged'; readonly text: string }
  | { readonly choice: MergeSide }
  | undefined;

export function askToMerge(question: MergeQuestion): Promise<MergeAnswer> {
  return openDialog<NonNullable<MergeAnswer>>((close) => <MergeDialog {...question} close={close} />);
}

const longestValue = 4000;

function MergeDialog({
  title,
  text,
  base,
  mine,
  theirs,
  labels,
  actions,
  close,
}: MergeQuestion & { readonly close: (answer?: NonNullable<MergeAnswer>) => void }): JSX.Element {
  const fields = mergeFields(base, mine, theirs);
  const [chosen, setChosen] = useState<ReadonlyMap<string, MergeSide>>(
    new Map(fields.flatMap(({ key, side }) => (side === undefined ? [] : [[key, side === 'both' ? 'theirs' : side]]))),
  );
  const missing = fields.filter(({ key }) => !chosen.has(key));
  const merge = (): void => {
    const fromMine = new Set([...chosen].filter(([, side]) => side === 'mine').map(([key]) => key));
    close({ choice: 'merged', text: indentJson(mergedText(mine, theirs, fromMine)) });
  };
  return (
    <Dialog title={title} size="large" onClose={() => close()}>
      <p>{text}</p>
      <Scroll label="Changed attributes">
        <table class="merge">
          <thead>
            <tr>
              <th scope="col">Attribute</th>
              <th scope="col">{labels.base}</th>
              <th scope="col">{labels.mine}</th>
              <th scope="col">{labels.theirs}</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <MergeRow
                key={field.key}
                field={field}
                labels={labels}
                chosen={chosen.get(field.key)}
                onChoose={(side) => setChosen(new Map([...chosen, [field.key, side]]))}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="hint" role="status">
        {missing.length === 0
          ? 'The chosen values are marked.'
          : `Both have changed ${missing.map(({ key }) => previewText(key, 40)).join(', ')}: choose a value.`}
      </p>
      <div class="actions">
        <button type="button" data-focus="" onClick={() => close()}>
          {actions.stay}
        </button>
        <button type="button" class="primary" disabled={missing.length > 0} onClick={merge}>
          {actions.merge}
        </button>
        {actions.theirs === undefined ? null : (
          <button type="button" onClick={() => close({ choice: 'theirs' })}>
            {actions.theirs}
          </button>
        )}
        {actions.mine === undefined ? null : (
          <button type="button" class="danger" onClick={() => close({ choice: 'mine' })}>
            {actions.mine}
          </button>
        )}
      </div>
    </Dialog>
  );
}

interface MergeRowProps {
  readonly field: MergeField;
  readonly labels: MergeQuestion['labels'];
  readonly chosen: MergeSide | undefined;
  readonly onChoose: (side: MergeSide) => void;
}

function MergeRow({ field, labels, chosen, onChoose }: MergeRowProps): JSX.Element {
  const { key, base, side } = field;
  return (
    <tr class={side === undefined ? 'conflict' : undefined}>
      <th scope="row">{previewText(key, 200)}</th>
      <td>
        <ValueText text={base} />
      </td>
      {(['mine', 'theirs'] as const).map((each) => (
        <td key={each} class={chosen === each ? 'chosen' : undefined}>
          <label>
            <input
              type="radio"
              name={`merge ${key}`}
              aria-label={`${labels[each]}: ${previewText(key, 200)}`}
              checked={chosen === each}
              onChange={() => onChoose(each)}
            />{' '}
            <ValueText text={field[each]} />
          </label>
        </td>
      ))}
    </tr>
  );
}

function ValueText({ text }: { readonly text: string | undefined }): JSX.Element {
  if (text === undefined) return <span class="quiet">absent</span>;
  const shown = text.length > longestValue ? `${text.slice(0, longestValue)}…` : indentJson(text);
  return <code>{shown}</code>;
}
