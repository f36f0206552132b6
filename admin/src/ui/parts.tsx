// Small parts that all areas share: buttons, fields, notes, dates, principals, progress.
import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../core/errors.ts';
import { formatExactTimestamp, formatTimestamp } from '../core/format.ts';
import { useApp } from './app-context.ts';

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick: () => unknown;
  readonly class?: string;
  readonly disabled?: boolean;
  /** Name for screen readers, where the content is an icon. */
  readonly label?: string;
  readonly title?: string;
}

/** A button that is disabled until its action ends. */
export function Button({ children, onClick, class: name, disabled, label, title }: ButtonProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const element = useRef<HTMLButtonElement>(null);
  const run = async (): Promise<void> => {
    const result = onClick();
    if (!(result instanceof Promise)) return;
    setBusy(true);
    try {
      await result;
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      ref={element}
      type="button"
      class={name}
      disabled={isBusy || disabled === true}
      aria-label={label}
      title={title}
      onClick={() => void run()}
    >
      {children}
    </button>
  );
}

export interface FieldAttributes {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: true;
}

export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Why the value is refused. */
  readonly fault?: string | undefined;
  readonly children: (attributes: FieldAttributes) => ComponentChildren;
}

/** A label with a control below it, a hint and the reason of a refusal. */
export function Field({ label, hint, fault, children }: FieldProps): JSX.Element {
  const id = useId();
  const described = [hint === undefined ? [] : `${id}-hint`, fault === undefined ? [] : `${id}-fault`].flat().join(' ');
  return (
    <div class={fault === undefined ? 'field' : 'field refused'}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described === '' ? {} : { 'aria-describedby': described }),
        ...(fault === undefined ? {} : { 'aria-invalid': true as const }),
      })}
      {hint === undefined ? null : <small id={`${id}-hint`}>{hint}</small>}
      {fault === undefined ? null : (
        <small id={`${id}-fault`} class="fault">
          {fault}
        </small>
      )}
    </div>
  );
}

/** A failure, which screen readers announce at once. It scrolls into view. */
export function FailureNote({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: () => void;
}): JSX.Element | null {
  if (error === undefined) return null;
  return (
    <p class="note bad" role="alert" ref={scrollIntoView}>
      {sentenceOf(error)}
      {onRetry === undefined ? null : (
        <>
          {' '}
          <Button class="small" onClick={onRetry}>
            Try again
          </Button>
        </>
      )}
    </p>
  );
}

function scrollIntoView(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'nearest' });
}

/** Stands in place of an action that the user may not do. */
export function NoPermission({ to }: { readonly to: string }): JSX.Element {
  return <span class="quiet">You have no permission to {to}.</span>;
}

export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <div class="empty">{children}</div>;
}

/** A quiet sign of work; it appears after a moment, by its style. */
export function Loading(): JSX.Element {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

/** A moment in local time; the exact one is the tooltip. */
export function Moment({ text }: { readonly text: string | undefined }): JSX.Element {
  const milliseconds = Number(text);
  const shown = formatTimestamp(text);
  if (shown === '') return <span class="quiet">—</span>;
  return (
    <time class="moment" dateTime={new Date(milliseconds).toISOString()} title={formatExactTimestamp(text)}>
      {shown}
    </time>
  );
}

/** A principal: you, a group, everyone, an account; long user ids are shortened. */
export function Principal({ id }: { readonly id: string }): JSX.Element {
  const { service } = useApp();
  const group = /^\/buckets\/([^/]+)\/groups\/([^/]+)$/.exec(id);
  const name =
    id === service.userId
      ? 'you'
      : id === 'system.Everyone'
        ? 'everyone'
        : id === 'system.Authenticated'
          ? 'everyone signed in'
          : group === null
            ? shortUser(id)
            : `${group[2] ?? ''} (group of ${group[1] ?? ''})`;
  return (
    <span class="principal" title={id}>
      {name}
    </span>
  );
}

/** Shortens the digits of Basic user ids, which are too long to read. */
export function shortUser(id: string): string {
  return id.replace(/^(basicauth:[\da-f]{8})[\da-f]{56}$/, '$1…');
}

/** How far an action on many objects is. */
export function Progress({
  done,
  total,
  label,
}: {
  readonly done: number;
  readonly total: number;
  readonly label: string;
}): JSX.Element {
  return (
    <p class="progress" role="status">
      <progress aria-label={label} value={done} max={total} /> {label}: {done} of {total}
    </p>
  );
}

/** A region that scrolls sideways, by keyboard as well. */
export function Scroll({
  label,
  box,
  children,
}: {
  readonly label: string;
  readonly box?: RefObject<HTMLDivElement | null>;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    // A region that scrolls needs the focus to be scrolled by keyboard.
    <div ref={box ?? null} class="scroll" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
