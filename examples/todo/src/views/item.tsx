// One item, and the choice between titles after a conflict.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Todo } from '../model.ts';
import type { TodoList } from '../todo-list.ts';
import type { Shown } from '../use-rows.ts';

interface Props {
  readonly todo: Shown<Todo>;
  readonly items: TodoList;
}

export function Item({ todo, items }: Props): JSX.Element {
  const { id, title, done, otherTitles = [], $synced } = todo;
  // What the user types stays, whatever arrives meanwhile.
  const [draft, setDraft] = useState<string>();
  const rename = (text: string): void => {
    setDraft(undefined);
    if (text !== '' && text !== title) items.rename(id, text);
  };
  return (
    <li class={done ? 'item done' : 'item'}>
      <div class="row">
        <input
          type="checkbox"
          checked={done}
          aria-label={`Done: ${title}`}
          onChange={(event) => items.setDone(id, event.currentTarget.checked)}
        />
        <input
          class="title"
          value={draft ?? title}
          aria-label="Title"
          maxLength={500}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onChange={(event) => rename(event.currentTarget.value.trim())}
        />
        {!$synced && (
          <span class="mark" title="Not sent yet">
            not sent
          </span>
        )}
        <button aria-label={`Delete: ${title}`} onClick={() => items.remove(id)}>
          Delete
        </button>
      </div>
      {otherTitles.length > 0 && (
        <div class="conflict" role="group" aria-label={`Conflict: ${title}`}>
          <p>Two people changed this title. Which one stays?</p>
          <button onClick={() => items.rename(id, title)}>Keep “{title}”</button>
          {otherTitles.map((other) => (
            <button key={other.title} onClick={() => items.rename(id, other.title)}>
              Use “{other.title}” by {other.by}
            </button>
          ))}
        </div>
      )}
    </li>
  );
}
