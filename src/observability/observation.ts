// Decides at the start which observers exist. Backends, policies and subscribers are wrapped only when one needs it.
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
import { observeBackends, observePolicy, observeSubscriber } from './observed-calls.ts';
import { Observers, slowOperations } from './observers.ts';
import { findTracing } from './tracing/environment.ts';
import type { Tracing } from './tracing/tracer.ts';

const closeTimeoutMs = 3000;

export class Observation {
  readonly #observers: Observers;
  readonly #tracing: Tracing | undefined;
  /** Whether an observer needs calls to backends, policies and subscribers. */
  readonly #isDeep: boolean;

  constructor(observers: Observers, tracing: Tracing | undefined, isDeep: boolean) {
    this.#observers = observers;
    this.#tracing = tracing;
    this.#isDeep = isDeep;
  }

  /** The observer of requests, known when plugins have been set up; `undefined` without any. */
  get observer(): Observer | undefined {
    return this.#observers.isEmpty ? undefined : this.#observers;
  }

  /** Wraps the backends when an observer needs their calls. */
  ofBackends(backends: OpenBackends): OpenBackends {
    return this.#isDeep ? observeBackends(backends, this.#observers) : backends;
  }

  /** Wraps authentication policies, as `ofBackends` does. */
  ofPolicies(policies: readonly AuthenticationPolicy[]): readonly AuthenticationPolicy[] {
    return this.#isDeep ? policies.map((policy) => observePolicy(policy, this.#observers)) : policies;
  }

  /** Wraps subscribers to events, as `ofBackends` does. */
  ofSubscribers(part: 'listeners' | 'plugins', subscribers: readonly Subscriber[]): readonly Subscriber[] {
    return this.#isDeep
      ? subscribers.map((subscriber) => observeSubscriber(subscriber, part, this.#observers))
      : subscribers;
  }

  /** Adds the observers of plugins. */
  addPlugins(parts: readonly PluginParts[]): void {
    for (const { observer } of parts) if (observer !== undefined) this.#observers.add(observer);
  }

  /** Sends the remaining traces, for a few seconds at most. */
  async close(): Promise<void> {
    if (this.#tracing === undefined) return;
    await Promise.race([this.#tracing.close(), wait(closeTimeoutMs, undefined, { ref: false })]);
  }
}

/** Creates the observers that the settings and the environment enable. */
export async function openObservation(
  settings: Settings,
  logger: Logger,
  plugins: readonly Plugin[],
): Promise<Observation> {
  const observers = new Observers(logger);
  const level = settings.get('log_level');
  const slowMs = settings.get('slow_operation_ms');
  // Traces come first, so that they include the work of the other observers.
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
    logger.warn(`Traces are not sent: ${wish.unusable}.`);
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
    // The service runs without traces.
    logger.warn(
      { reason: messageOf(error) },
      'Traces are not sent: the optional packages of OpenTelemetry are not installed.',
    );
    return undefined;
  }
}
