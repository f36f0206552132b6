// The stage of the console's tests: one browser and one service for each file and backend, emptied before each test, and a
// visitor with a window of its own. After each test the page must have had no faults.
import process from 'node:process';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import {
  startTestService,
  type TestBackend,
  type TestClient,
  type TestService,
  type TestServiceOptions,
} from '../../src/testing/index.ts';
import { allBackends } from '../support/backends.ts';
import { inExtent } from '../support/extent.ts';
import { expectGoodView, expectGoodViews } from './accessibility.ts';
import { openBrowser, Visitor } from './visitor.ts';

/** The backends that the console is tested on: the default one, and in the complete run PostgreSQL as well. */
const backends = process.env['COFFER_CONSOLE_BACKENDS']?.split(',') ?? inExtent(['sqlite'], ['sqlite', 'postgresql']);

export const collection = '/v1/buckets/kitchen/collections/recipes';
export const collectionView = '#/buckets/kitchen/collections/recipes';
export const hostile = '<img src=x onerror=alert(1)><script>alert(2)</script>';

export interface StageOptions {
  /** Settings of the service, in addition to those of the stage. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Fills the empty service before each test. By default, alice creates the bucket `kitchen` with the collection `recipes`. */
  readonly fill?: (stage: Stage) => Promise<void>;
}

export class Stage {
  browser!: Browser;
  service!: TestService;
  visitor!: Visitor;

  get page(): Page {
    return this.visitor.page;
  }

  get alice(): TestClient {
    return this.service.asUser('alice');
  }

  /** Presses the button with a name. */
  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  /** Waits for a message, and for no other one that contains the same words. */
  status(text: string): Promise<void> {
    return this.page.getByRole('status').getByText(text, { exact: true }).first().waitFor();
  }

  /** Waits for the heading of a view. */
  heading(name: string): Promise<void> {
    return this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  /** Creates accounts with the passwords that test clients have. */
  async addAccounts(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const body = { data: { password: `secret of ${name}` } };
      expect((await this.service.request('PUT', `/v1/accounts/${name}`, { body })).status).toBe(201);
    }
  }

  /** Stores objects of alice by path, with JSON texts, a batch at a time. */
  async putAll(objects: readonly (readonly [path: string, data: string])[]): Promise<void> {
    for (let at = 0; at < objects.length; at += 500) {
      const requests = objects
        .slice(at, at + 500)
        .map(([path, data]) => `{"method":"PUT","path":"${path.replace(/^\/v1/, '')}","body":{"data":${data}}}`);
      const { body } = await this.alice.request('POST', '/v1/batch', {
        raw: `{"requests":[${requests.join(',')}]}`,
        headers: { 'Content-Type': 'application/json' },
      });
      const { responses } = body as { readonly responses: readonly { readonly status: number }[] };
      expect(responses.filter(({ status }) => status >= 300)).toEqual([]);
    }
  }

  /** Stores records by id, with JSON texts. */
  store(records: Readonly<Record<string, string>>): Promise<void> {
    return this.putAll(Object.entries(records).map(([id, data]) => [`${collection}/records/${id}`, data]));
  }

  /** Stores records `r0`, `r1` and so on, with a number and a title. */
  storeMany(count: number): Promise<void> {
    return this.putAll(
      Array.from({ length: count }, (_value, n) => [`${collection}/records/r${n}`, `{"n":${n},"title":"Title ${n}"}`]),
    );
  }

  /** Returns the text of a record as the service sends it. */
  async recordText(id: string): Promise<string> {
    const { status, text } = await this.alice.request('GET', `${collection}/records/${id}`);
    // Without it, a refusal on a busy machine looks like a record with other attributes.
    expect({ status, text }).toMatchObject({ status: 200 });
    return text;
  }

  /** Expects that the view as it is shown is accessible in light, in dark and on a phone, and not too wide. */
  checkView(name: string): Promise<void> {
    return expectGoodView(this.page, name);
  }

  /** Visits views, and expects the same of each. */
  checkViews(views: readonly string[]): Promise<void> {
    return expectGoodViews(this.visitor, views);
  }
}

/** Declares tests on each backend. Before each of them the service is emptied and filled, and a visitor comes. */
export function describeConsole(title: string, options: StageOptions, declare: (stage: Stage) => void): void {
  const { settings = {}, fill = fillKitchen } = options;
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser();
  }, 300_000);
  afterAll(() => browser.close());
  describe.each(backends)(`${title} on %s`, (name) => {
    const stage = new Stage();
    beforeAll(async () => {
      const { includes = 'admin history default_bucket', ...others } = settings;
      const backend = allBackends.find((each) => each.name === name);
      if (backend === undefined) throw new Error(`Unknown backend: ${name}`);
      stage.browser = browser;
      stage.service = await backend.start({
        settings: { includes: `flush ${includes}`, batch_max_requests: '500', ...others },
      });
    });
    afterAll(() => stage.service.close());
    beforeEach(async () => {
      expect((await stage.service.request('POST', '/v1/__flush__')).status).toBe(202);
      await fill(stage);
      stage.visitor = await Visitor.come(browser, stage.service);
    });
    afterEach(async () => {
      const { faults } = stage.visitor;
      await stage.visitor.leave();
      expect(faults).toEqual([]);
    });
    declare(stage);
  });
}

type StageSettings = Readonly<Record<string, string>>;

/**
 * Sets the stage before each test with a service of its own, for tests of what a service keeps besides objects, such as its
 * log. A function returns settings that an earlier `beforeEach` has determined.
 */
export function setStage(
  settings: StageSettings | (() => StageSettings) = {},
  { start = startTestService, ...options }: Partial<TestBackend> & Pick<TestServiceOptions, 'logger'> = {},
): Stage {
  const stage = new Stage();
  beforeAll(async () => {
    stage.browser = await openBrowser();
  }, 300_000);
  afterAll(() => stage.browser.close());
  beforeEach(async () => {
    const given = typeof settings === 'function' ? settings() : settings;
    stage.service = await start({
      ...options,
      settings: { includes: 'admin history default_bucket', batch_max_requests: '500', ...given },
    });
    await fillKitchen(stage);
    stage.visitor = await Visitor.come(stage.browser, stage.service);
  });
  afterEach(async () => {
    const { faults } = stage.visitor;
    await stage.visitor.leave();
    await stage.service.close();
    expect(faults).toEqual([]);
  });
  return stage;
}

async function fillKitchen({ alice }: Stage): Promise<void> {
  await alice.request('PUT', '/v1/buckets/kitchen');
  await alice.request('PUT', collection);
}
