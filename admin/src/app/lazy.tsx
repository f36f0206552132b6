// A component whose code is loaded on first use.
import type { ComponentType, JSX } from 'preact';
import { useLoad } from '../ui/hooks.ts';
import { FailureNote, Loading } from '../ui/parts.tsx';

export interface LazyProps<Props> {
  /** Identifies the component. */
  readonly name: string;
  readonly load: () => Promise<ComponentType<Props>>;
  readonly with: Props;
}

export function Lazy<Props extends object>({ name, load, with: props }: LazyProps<Props>): JSX.Element {
  const { value, error } = useLoad(async () => ({ name, Component: await load() }), name);
  if (error !== undefined) {
    return (
      <FailureNote error={new Error('A part of the console could not be loaded.')} onRetry={() => location.reload()} />
    );
  }
  if (value === undefined || value.name !== name) return <Loading />;
  const { Component } = value;
  return <Component {...props} />;
}
