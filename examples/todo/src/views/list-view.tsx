// One list: its items, a form for a new one, and who shares it.
import type { JSX, TargetedSubmitEvent } from 'preact';
import type { List } from '../model.ts';
import type { Store } from '../store.ts';
import type { TodoList } from '../todo-list.ts';
import { useTodos } from '../use-rows.ts';
import { textOf } from './form.ts';
import { Item } from './item.tsx';
import { Sharing } from './sharing.tsx';

interface Props {
  readonly store: Store;
  readonly list: List;
  readonly items: TodoList;
}

export function ListView({ store, list, items }: Props): JSX.Element {
  const todos = useTodos(items.todos);
  const unsent = todos.filter(({ $synced }) => !$synced).length;

  const add = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    items.add(textOf(form, 'title'));
    form.reset();
  };

  return (
    <>
      <h1>{list.title}</h1>
      <form onSubmit={add} class="row">
        <input name="title" aria-label="New item" placeholder="New item" required maxLength={500} />
        <button>Add</button>
      </form>
      <ul class="items">
        {todos.map((todo) => (
          <Item key={todo.id} todo={todo} items={items} />
        ))}
      </ul>
      <p class="unsent">{unsent === 0 ? 'All changes are saved.' : `${unsent} changed here, and not sent yet.`}</p>
      <Sharing store={store} list={list} />
    </>
  );
}
