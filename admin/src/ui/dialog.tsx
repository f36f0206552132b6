// Dialogs: questions, and whatever an area shows above its view. The browser's own `dialog` keeps the focus inside, and
// Escape is the safe choice.
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { createStore } from '../core/store.ts';
import { Field } from './parts.tsx';
import { useStore } from './use-store.ts';

interface OpenDialog {
  readonly id: number;
  readonly render: () => JSX.Element;
}

const open = createStore<readonly OpenDialog[]>([]);
let count = 0;

/**
 * Opens a dialog and waits for its result. `render` gets the function that closes it; the result is `undefined` after
 * Escape.
 */
export function openDialog<Result>(
  render: (close: (result?: Result) => void) => JSX.Element,
): Promise<Result | undefined> {
  return new Promise((resolve) => {
    count += 1;
    const id = count;
    const close = (result?: Result): void => {
      open.set(open.get().filter((each) => each.id !== id));
      resolve(result);
    };
    open.set([...open.get(), { id, render: () => render(close) }]);
  });
}

/** The open dialogs; the frame shows them. */
export function Dialogs(): JSX.Element {
  return (
    <>
      {useStore(open).map(({ id, render }) => (
        <DialogSlot key={id} render={render} />
      ))}
    </>
  );
}

function DialogSlot({ render }: { readonly render: () => JSX.Element }): JSX.Element {
  return render();
}

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly size?: 'small' | 'large' | 'search';
  readonly children: ComponentChildren;
}

/** A modal dialog with a title. The element with `data-focus` has the focus first. */
export function Dialog({ title, onClose, size = 'small', children }: DialogProps): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const id = `dialog-${useRef(count).current}`;
  // Before the next key, so that nothing typed is lost.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog === null) return;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-focus]')?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      // `small` is a size of buttons.
      class={size === 'small' ? undefined : size}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClose={onClose}
    >
      <h2 id={id} class={size === 'search' ? 'hidden' : undefined}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}

export interface Choice<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly isDangerous?: boolean;
}

/** Shows choices and waits for one; the first has the focus. Returns `undefined` after Escape. */
export function choose<Value extends string>(
  title: string,
  content: ComponentChildren,
  choices: readonly Choice<Value>[],
  size: 'small' | 'large' = 'small',
): Promise<Value | undefined> {
  return openDialog<Value>((close) => (
    <Dialog title={title} size={size} onClose={() => close()}>
      {content}
      <div class="actions">
        {choices.map(({ value, label, isDangerous }, index) => (
          <button
            type="button"
            key={value}
            class={isDangerous === true ? 'danger' : undefined}
            data-focus={index === 0 ? '' : undefined}
            onClick={() => close(value)}
          >
            {label}
          </button>
        ))}
      </div>
    </Dialog>
  ));
}

export interface Question {
  readonly title: string;
  readonly text: string;
  readonly yes: string;
  readonly no: string;
}

/** Asks a question with yes and no. The focus is on no. */
export async function ask({ title, text, yes, no }: Question): Promise<boolean> {
  const answer = await choose(title, <p>{text}</p>, [
    { value: 'no', label: no },
    { value: 'yes', label: yes, isDangerous: true },
  ]);
  return answer === 'yes';
}

/** Asks for confirmation of an irreversible action: the user must type a word. */
export async function askForWord(question: Omit<Question, 'no'> & { readonly word: string }): Promise<boolean> {
  const answer = await openDialog<boolean>((close) => <WordDialog {...question} close={close} />);
  return answer === true;
}

function WordDialog({
  title,
  text,
  yes,
  word,
  close,
}: Omit<Question, 'no'> & { readonly word: string; readonly close: (isSure?: boolean) => void }): JSX.Element {
  const [typed, setTyped] = useState('');
  return (
    <Dialog title={title} onClose={() => close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === word) close(true);
        }}
      >
        <p>{text}</p>
        <Field label={`Type ${word} to continue`}>
          {(attributes) => (
            <input
              {...attributes}
              data-focus=""
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="actions">
          <button type="submit" class="danger" disabled={typed !== word}>
            {yes}
          </button>
          <button type="button" onClick={() => close()}>
            Keep it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
