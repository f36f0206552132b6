// Decides, before anything is put together, who will look on: then and only then backends and policies are wrapped.
import { messageOf } from '../base/message-of.ts';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Observer } from '../contracts/observer.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';
import { accessLog } from './access-log.ts';
import type { Plugin, PluginParts } from '../http/plugin.ts';
import type { Settings } from '../settings/settings.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import { observeBackends } from './observed-backends.ts';
import { observePolicy } from './observed-policies.ts';
import { observeSubscriber } from './observed-subscribers.ts';
import { Observers } from './observers.ts';
import { slowOperations } from './slow-operations.ts';
import { findTracing } from './tracing/environment.ts';
import type { Tracing } from './tracing/tracer.ts';

const closeTimeoutMs = 3000;

export class Observation {
  readonly #observers: Observers;
  readonly #tracing: Tracing | undefined;
  /** Whether anybody wants to know of calls to backends, policies and subscribers. */
  readonly #isDeep: boolean;

  constructor(observers: Observers, tracing: Tracing | undefined, isDeep: boolean) {
    this.#observers = observers;
    this.#tracing = tracing;
    this.#isDeep = isDeep;
  }

  /** Of requests; `undefined` when nobody looks on. Ask once plugins have been set up. */
  get observer(): Observer | undefined {
    return this.#observers.isEmpty ? undefined : this.#observers;
  }

  ofBackends(backends: OpenBackends): OpenBackends {
    return this.#isDeep ? observeBackends(backends, this.#observers) : backends;
  }

  ofPolicies(policies: readonly AuthenticationPolicy[]): readonly AuthenticationPolicy[] {
    return this.#isDeep ? policies.map((policy) => observePolicy(policy, this.#observers)) : policies;
  }

  ofSubscribers(part: 'listeners' | 'plugins', subscribers: readonly Subscriber[]): readonly Subscriber[] {
    return this.#isDeep
      ? subscribers.map((subscriber) => observeSubscriber(subscriber, part, this.#observers))
      : subscribers;
  }

  addPlugins(parts: readonly PluginParts[]): void {
    for (const { observer } of parts) if (observer !== undefined) this.#observers.add(observer);
  }

  /** Sends what has not been sent yet, if somebody takes it soon. */
  async close(): Promise<void> {
    if (this.#tracing === undefined) return;
    await Promise.race([this.#tracing.close(), wait(closeTimeoutMs, undefined, { ref: false })]);
  }
}

/** Finds out who will look on. */
export async function openObservation(
  settings: Settings,
  logger: Logger,
  plugins: readonly Plugin[],
): Promise<Observation> {
  const observers = new Observers(logger);
  const level = settings.get('log_level');
  const slowMs = settings.get('slow_operation_ms');
  // First, so that whatever the others observe is known to be part of a trace.
  const tracing = await openTracing(settings, logger);
  if (tracing !== undefined) observers.add(tracing);
  if (level === 'info' || level === 'debug') observers.add(accessLog(logger));
  if (slowMs > 0) observers.add(slowOperations(logger, slowMs));
  const isDeep = slowMs > 0 || tracing !== undefined || plugins.some(({ observes }) => observes === true);
  return new Observation(observers, tracing, isDeep);
}

async function openTracing(settings: Settings, logger: Logger): Promise<Tracing | undefined> {
  const wish = findTracing(process.env);
  if (wish === 'off') return undefined;
  if (typeof wish === 'object') {
    logger.warn(`There are no traces: ${wish.unusable}.`);
    return undefined;
  }
  try {
    const { startTracing } = await import('./tracing/tracer.ts');
    return startTracing({
      serviceName: settings.get('project_name'),
      version: settings.get('project_version'),
      logger,
    });
  } catch (error) {
    // Nobody shall be without service for want of traces.
    logger.warn(
      { reason: messageOf(error) },
      'There are no traces: the optional packages of OpenTelemetry are not installed.',
    );
    return undefined;
  }
}
