// The dialog that chooses the columns of the records of a collection.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../ui/dialog.tsx';

/** Asks for columns. Returns the chosen ones; `null` for those of the collection, `undefined` after Escape. */
export function chooseColumns(
  known: readonly string[],
  shown: readonly string[],
): Promise<readonly string[] | null | undefined> {
  return openDialog<readonly string[] | null>((close) => <ColumnDialog known={known} shown={shown} close={close} />);
}

interface ColumnDialogProps {
  readonly known: readonly string[];
  readonly shown: readonly string[];
  readonly close: (columns?: readonly string[] | null) => void;
}

function ColumnDialog({ known, shown, close }: ColumnDialogProps): JSX.Element {
  const [chosen, setChosen] = useState(shown);
  // The chosen ones first, in their order.
  const fields = [...chosen, ...known.filter((field) => !chosen.includes(field))];
  const toggle = (field: string): void =>
    setChosen(chosen.includes(field) ? chosen.filter((each) => each !== field) : [...chosen, field]);
  const move = (field: string, by: number): void => {
    const from = chosen.indexOf(field);
    setChosen(chosen.toSpliced(from, 1).toSpliced(from + by, 0, field));
  };
  return (
    <Dialog title="Columns" onClose={() => close()}>
      <ul class="choices">
        {fields.map((field) => (
          <li key={field}>
            <label>
              <input type="checkbox" checked={chosen.includes(field)} onChange={() => toggle(field)} /> {field}
            </label>
            {chosen.includes(field) ? (
              <span class="moves">
                <button
                  type="button"
                  class="plain"
                  aria-label={`Move ${field} left`}
                  disabled={chosen[0] === field}
                  onClick={() => move(field, -1)}
                >
                  ↑
                </button>
                <button
                  type="button"
                  class="plain"
                  aria-label={`Move ${field} right`}
                  disabled={chosen.at(-1) === field}
                  onClick={() => move(field, 1)}
                >
                  ↓
                </button>
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      <div class="actions">
        <button type="button" class="primary" data-focus="" onClick={() => close(chosen)}>
          Apply
        </button>
        <button type="button" onClick={() => close(null)}>
          Reset
        </button>
      </div>
    </Dialog>
  );
}
