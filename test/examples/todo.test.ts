// The example `todo` in Chromium: browsers of two users, each with a connection of its own that the test can break.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { basic, Coffer } from '@coffer/client';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { buildPage, createBucket, servePage, settings } from '../../examples/todo/serve.mjs';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { expectGoodView } from '../console/accessibility.ts';
import { openBrowser } from '../console/visitor.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const password = 'correct-horse';
/** For machines that are busy. */
const patience = { timeout: 60_000 };
const outDir = mkdtempSync(path.join(tmpdir(), 'coffer-todo-'));

let browser: Browser;
let service: TestService;
let server: Awaited<ReturnType<typeof servePage>>;
const people: Person[] = [];

beforeAll(async () => {
  // Tests have an environment of their own, and the page is the one that users get.
  vi.stubEnv('NODE_ENV', 'production');
  await buildPage(outDir);
  vi.unstubAllEnvs();
  [browser, service] = await Promise.all([openBrowser(), startTestService({ settings })]);
  await createBucket(`${service.origin}/v1`, password);
  server = await servePage(service.origin, { outDir });
}, 300_000);
afterEach(async () => {
  const faults = people.flatMap((person) => person.faults);
  await Promise.all(people.splice(0).map((person) => person.leave()));
  expect(faults).toEqual([]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
  await service.close();
  rmSync(outDir, { recursive: true, force: true });
});

/** Returns the titles that the service has in the list that a user sees. */
async function storedTitles({ name }: Person): Promise<readonly unknown[]> {
  const bucket = new Coffer(`${service.origin}/v1`, { auth: basic(name, password) }).bucket('todo');
  const { data: lists } = await bucket.collections.list().all();
  const { data } = await bucket.collection(lists[0]!.id).list().all();
  return data.map(({ title }) => title);
}

/** A user with a browser. */
class Person {
  readonly name: string;
  readonly faults: string[] = [];
  page: Page;
  readonly #context: BrowserContext;
  readonly #proxy: TcpProxy;

  /** Opens the application, and creates the account. */
  static async come(name: string): Promise<Person> {
    const proxy = await TcpProxy.to(Number(new URL(server.origin).port));
    const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
    context.setDefaultTimeout(patience.timeout);
    const person = new Person(name, proxy, context, await context.newPage());
    people.push(person);
    person.watch();
    await person.page.goto(`http://localhost:${proxy.port}`);
    // Once the service worker has the files, the page loads without a network.
    await person.page.waitForFunction('navigator.serviceWorker.controller !== null');
    await person.field('Name').fill(name);
    await person.field('Password').fill(password);
    await person.press('Create account');
    await person.page.getByRole('button', { name: 'Sign out' }).waitFor();
    return person;
  }

  private constructor(name: string, proxy: TcpProxy, context: BrowserContext, page: Page) {
    this.name = name;
    this.page = page;
    this.#proxy = proxy;
    this.#context = context;
  }

  watch(): void {
    this.page.on('pageerror', (error) => this.faults.push(`${this.name}: ${error.message}`));
  }

  /** Opens the same address in another tab of the same browser. */
  async openTab(): Promise<Page> {
    const tab = await this.#context.newPage();
    tab.on('pageerror', (error) => this.faults.push(`${this.name}: ${error.message}`));
    await tab.goto(this.page.url());
    return tab;
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true });
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click();
  }

  async createList(title: string): Promise<void> {
    await this.field('Title of the new list').fill(title);
    await this.press('Create');
    await this.page.getByRole('heading', { name: title, level: 1 }).waitFor();
  }

  openList(title: string): Promise<void> {
    return this.page.getByRole('link', { name: title, exact: true }).click();
  }

  async share(name: string): Promise<void> {
    await this.field('Name of the user').fill(name);
    await this.press('Share');
    await this.page.getByRole('button', { name: `Remove ${name}` }).waitFor();
  }

  async add(...titles: readonly string[]): Promise<void> {
    for (const title of titles) {
      await this.field('New item').fill(title);
      await this.press('Add');
    }
  }

  async rename(title: string, to: string): Promise<void> {
    const field = this.page.locator(`.item:has([aria-label="Done: ${title}"])`).getByLabel('Title');
    await field.fill(to);
    await field.blur();
  }

  done(title: string): Promise<void> {
    return this.page.getByLabel(`Done: ${title}`).check();
  }

  /** Titles of the items, with a mark for those that are done. */
  titles(page = this.page): Promise<readonly string[]> {
    return page.evaluate(`[...document.querySelectorAll('.item')].map((item) =>
      (item.matches('.done') ? '✓ ' : '') + item.querySelector('.title').value)`);
  }

  async sees(...titles: readonly string[]): Promise<void> {
    await expect.poll(() => this.titles(), patience).toEqual(titles);
  }

  async hasSentAll(): Promise<void> {
    await this.page.getByText('All changes are saved.').waitFor();
  }

  async hasUnsent(count: number): Promise<void> {
    await this.page.getByText(`${count} changed here, and not sent yet.`).waitFor();
  }

  /** Waits until this tab holds the lock of the outbox of the list that it shows. */
  async keepsEdits(): Promise<void> {
    const held = `navigator.locks.query().then(({ held, pending }) => held.length > 0 && pending.length === 0)`;
    await expect.poll(() => this.page.evaluate(held), patience).toBe(true);
  }

  async goOffline(): Promise<void> {
    this.#proxy.refuse();
    await this.#context.setOffline(true);
    await this.page.getByText('Offline', { exact: true }).waitFor();
  }

  async goOnline(): Promise<void> {
    this.#proxy.mend();
    await this.#context.setOffline(false);
    await this.page.getByText('Online', { exact: true }).waitFor();
  }

  /** Everything that the browser keeps for the application, as text. */
  kept(): Promise<string> {
    return this.page.evaluate(`(async () => {
      const resultOf = (request) => new Promise((resolve) => { request.onsuccess = () => resolve(request.result); });
      const kept = [{ ...localStorage }, { ...sessionStorage }];
      for (const { name } of await indexedDB.databases()) {
        const database = await resultOf(indexedDB.open(name));
        for (const store of database.objectStoreNames) {
          kept.push(await resultOf(database.transaction(store).objectStore(store).getAll()));
        }
        database.close();
      }
      return JSON.stringify(kept);
    })()`);
  }

  async leave(): Promise<void> {
    await this.#context.close();
    await this.#proxy.close();
  }
}

let pairs = 0;

/** Two users who look at the list `Home` of the first one, with these items. */
async function twoPeople(...items: readonly string[]): Promise<readonly [Person, Person]> {
  pairs += 1;
  const [ann, bob] = await Promise.all([Person.come(`ann${pairs}`), Person.come(`bob${pairs}`)]);
  await ann.createList('Home');
  await ann.share(bob.name);
  await bob.openList('Home');
  await ann.add(...items);
  await Promise.all([ann.hasSentAll(), bob.sees(...items)]);
  return [ann, bob];
}

describe('The to-do lists', () => {
  it('appear with the other user when they are shared, and follow each other', async () => {
    const [ann, bob] = await twoPeople('Milk');
    await bob.add('Bread');
    await ann.sees('Milk', 'Bread');
    await bob.done('Milk');
    await ann.sees('✓ Milk', 'Bread');
    await ann.press('Delete: Bread');
    await bob.sees('✓ Milk');
    await Promise.all([ann.hasSentAll(), bob.hasSentAll()]);
  });

  it('keep the text that a user types while changes of others arrive', async () => {
    const [ann, bob] = await twoPeople('Milk');
    await bob.field('Title').fill('Oat milk');
    await ann.add('Bread');
    await ann.done('Milk');
    await bob.sees('✓ Oat milk', 'Bread');
    await bob.field('Title').first().blur();
    await ann.sees('✓ Oat milk', 'Bread');
  });

  it('merge what both users have changed offline', async () => {
    const [ann, bob] = await twoPeople('Milk', 'Bread', 'Salt');
    await Promise.all([ann.goOffline(), bob.goOffline()]);
    await ann.rename('Milk', 'Oat milk');
    await ann.add('Tea');
    await bob.done('Milk');
    await bob.press('Delete: Salt');
    await ann.sees('Oat milk', 'Bread', 'Salt', 'Tea');
    await bob.sees('✓ Milk', 'Bread');
    await ann.hasUnsent(2);
    await ann.goOnline();
    await ann.hasSentAll();
    await bob.goOnline();
    await Promise.all([ann, bob].map((person) => person.sees('✓ Oat milk', 'Bread', 'Tea')));
    await Promise.all([ann.hasSentAll(), bob.hasSentAll()]);
  });

  it('keep edits over a reload without a network', async () => {
    const [ann, bob] = await twoPeople('Milk');
    await ann.goOffline();
    await ann.add('Tea');
    await ann.done('Milk');
    await ann.hasUnsent(2);
    await ann.page.reload();
    await ann.sees('✓ Milk', 'Tea');
    await ann.hasUnsent(2);
    await ann.rename('Tea', 'Green tea');
    await bob.sees('Milk');
    await ann.goOnline();
    await bob.sees('✓ Milk', 'Green tea');
    await ann.hasSentAll();
    await ann.sees('✓ Milk', 'Green tea');
  });

  it('show both users a conflict of titles, and end it when one of them chooses', async () => {
    const [ann, bob] = await twoPeople('Milk');
    await ann.goOffline();
    await ann.rename('Milk', 'Oat milk');
    await bob.rename('Milk', 'Soy milk');
    await expect.poll(() => storedTitles(bob), patience).toEqual(['Soy milk']);
    await ann.goOnline();
    const choice = `Use “Oat milk” by ${ann.name}`;
    for (const { page } of [ann, bob]) {
      await page.getByRole('group', { name: 'Conflict: Soy milk' }).getByRole('button', { name: choice }).waitFor();
    }
    await expectGoodView(bob.page, 'todo-conflict');
    await bob.press(choice);
    await Promise.all([ann, bob].map((person) => person.sees('Oat milk')));
    await expect.poll(() => ann.page.getByRole('group').count(), patience).toBe(0);
    await bob.hasSentAll();
    expect(await ann.kept()).not.toContain('Soy milk');
  });

  it('leave nothing with a user who has lost access, neither on the page nor in the browser', async () => {
    const [ann, bob] = await twoPeople('Secret');
    await bob.goOffline();
    await bob.add('Unsent');
    const kept = await bob.kept();
    for (const text of ['Secret', 'Unsent', 'Home']) expect(kept).toContain(text);
    await ann.press(`Remove ${bob.name}`);
    await ann.page.getByText('Not shared yet.').waitFor();
    await bob.goOnline();
    await bob.page.getByText('This list does not exist, or is not shared with you.').waitFor();
    expect(await bob.page.content()).not.toMatch(/Secret|Unsent|Home/);
    await expect.poll(() => bob.kept(), patience).not.toMatch(/Secret|Unsent|Home/);
    await ann.sees('Secret');
    // Shared again, the list is complete.
    await ann.share(bob.name);
    await bob.sees('Secret');
  });

  it('work in two tabs, one of which keeps edits without a network', async () => {
    const [ann] = await twoPeople('Milk');
    const first = ann.page;
    const second = await ann.openTab();
    await expect.poll(() => ann.titles(second), patience).toEqual(['Milk']);
    ann.page = second;
    await ann.done('Milk');
    await expect.poll(() => ann.titles(first), patience).toEqual(['✓ Milk']);
    await ann.hasSentAll();
    await ann.goOffline();
    await ann.add('Lost');
    await second.getByText('one tab keeps edits').waitFor();
    await ann.sees('✓ Milk');
    await first.close();
    await ann.keepsEdits();
    await ann.add('Tea');
    await ann.hasUnsent(1);
    await second.reload();
    await ann.sees('✓ Milk', 'Tea');
    await ann.goOnline();
    await ann.hasSentAll();
  });

  it('leave nothing in the browser of a user who signs out', async () => {
    const [ann] = await twoPeople('Milk');
    expect(await ann.kept()).toContain('Milk');
    const other = await ann.openTab();
    await expect.poll(() => ann.titles(other), patience).toEqual(['Milk']);
    await ann.goOffline();
    await ann.rename('Milk', 'Unsent');
    await ann.hasUnsent(1);
    let question = '';
    ann.page.once('dialog', (dialog) => {
      question = dialog.message();
      void dialog.dismiss();
    });
    await ann.press('Sign out');
    await expect.poll(() => question, patience).toBe('Changes that are not sent yet: 1. They would be lost. Sign out?');
    await ann.goOnline();
    await ann.hasSentAll();
    await ann.press('Sign out');
    for (const page of [ann.page, other]) await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await expect.poll(() => ann.kept(), patience).toBe('[{},{}]');
    await ann.field('Name').fill(ann.name);
    await ann.field('Password').fill('wrong-horse');
    await ann.press('Sign in');
    await ann.page.getByText('The name or the password is wrong.').waitFor();
    await expectGoodView(ann.page, 'todo-sign-in');
  });
});
