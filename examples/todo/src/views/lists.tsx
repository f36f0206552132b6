// The lists of the user: own ones, and those that others share.
import type { JSX, TargetedSubmitEvent } from 'preact';
import type { List } from '../model.ts';
import type { Store } from '../store.ts';
import { textOf } from './form.ts';

interface Props {
  readonly store: Store;
  readonly lists: readonly List[];
  readonly current: string;
}

export function Lists({ store, lists, current }: Props): JSX.Element {
  const create = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const open = (id: string): void => {
      form.reset();
      location.hash = id;
    };
    store.createList(textOf(form, 'title')).then(open, store.report);
  };

  const sorted = lists.toSorted((a, b) => a.title.localeCompare(b.title));
  return (
    <nav aria-label="Lists">
      <ul>
        {sorted.map(({ id, title }) => (
          <li key={id}>
            <a href={`#${id}`} aria-current={id === current ? 'page' : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
      <form onSubmit={create} class="row">
        <input name="title" aria-label="Title of the new list" placeholder="New list" required maxLength={100} />
        <button>Create</button>
      </form>
    </nav>
  );
}
