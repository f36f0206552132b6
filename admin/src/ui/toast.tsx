// Short messages at the bottom of the page, some with actions. They end with the view that they belong to.
import type { JSX } from 'preact';
import { go, onLeave } from '../core/router.ts';
import { createStore } from '../core/store.ts';
import { Button } from './parts.tsx';
import { useStore } from './use-store.ts';

/** What a message offers: an address to go to, or something to do. */
export interface ToastAction {
  readonly label: string;
  readonly run: string | (() => unknown);
}

const shownMilliseconds = 6000;
/** A message with actions stays long enough to reach them. */
const actionMilliseconds = 30_000;

const message = createStore<{ readonly text: string; readonly actions: readonly ToastAction[] }>({
  text: '',
  actions: [],
});
let timer: ReturnType<typeof setTimeout> | undefined;

/** Shows a message. */
export function say(text: string, actions: readonly ToastAction[] = []): void {
  message.set({ text, actions });
  clearTimeout(timer);
  timer = setTimeout(clear, actions.length === 0 ? shownMilliseconds : actionMilliseconds);
}

function clear(): void {
  clearTimeout(timer);
  message.set({ text: '', actions: [] });
}

onLeave(clear);

export function Toasts(): JSX.Element {
  const { text, actions } = useStore(message);
  return (
    <div id="toast" hidden={text === ''}>
      <p id="status" role="status" aria-live="polite">
        {text}
      </p>
      {actions.map(({ label, run }) => (
        <Button key={label} class="small" onClick={() => (typeof run === 'string' ? go(run) : run())}>
          {label}
        </Button>
      ))}
    </div>
  );
}
