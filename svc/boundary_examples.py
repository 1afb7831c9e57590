"""Sessions written to train the boundary judge, of kinds of projects that the labelled ones are not.

One prompt a line: `#` opens another goal, `-` goes on with the one before. After `|` the files that the turn changed,
after `=>` the end of the answer, maybe on a line of its own. A blank line parts sessions.
"""

SESSIONS = """
# Add a discount field to the checkout form and show the reduced total. | web/checkout.tsx
  => The form has a discount field now, and the total follows it.
- also show it in the order mail | mail/order.html => The mail shows the discount.
- The total is rounded wrong, it should round half up | web/checkout.tsx => Fixed, it rounds half up now.
# The image upload fails for files over 5 MB with a 413. Find out why and fix it. | nginx/site.conf
  => The proxy limited bodies to 5 MB. It allows 20 MB now.
- does that limit apply to the API too? => Yes, both go through the same server block.
# Write a migration that adds an index on orders.customer_id. | db/0042_orders.sql
  => Done. The migration adds the index concurrently.
- run it against the local database => Applied in 0.4 s.
- commit this => Committed.

# Why does the thermostat jump between two temperatures every minute?
  => The sensor reports Fahrenheit once a minute. Shall I convert it?
- yes please | firmware/sensor.c => Converted. The reading is stable now.
- add a test with a mixed series | firmware/test_sensor.c => Added, it passes.
# Now the display: dim it after 30 seconds without a touch. | firmware/display.c
  => The display dims after 30 seconds.
- 20 seconds is enough | firmware/display.c => It is 20 seconds now.
- make it configurable | firmware/display.c, firmware/config.h => There is a setting for it.
# Set up a GitHub workflow that builds the firmware for both boards on every push. | .github/workflows/build.yml
  => The workflow builds both boards.
- the second board needs the arm toolchain | .github/workflows/build.yml => It installs the toolchain first.

# Train a baseline classifier on data/churn.csv and report precision and recall. | train.py
  => Precision .71, recall .64 on the held-out part.
- what happens if you balance the classes? | train.py => Recall rises to .73, precision falls to .66.
- plot the curve for both | plots.py => The plot lies in out/pr.png.
- hm, the labels of the axes are swapped | plots.py => Swapped back.
# Move the notebook cells that load data into a module with functions and docstrings. | churn/load.py
  => The loading lives in churn/load.py now.
- keep the old names | churn/load.py => The old names are kept.
# Explain what the learning rate schedule in optim.py does. => It warms up for 500 steps and then falls by a cosine.
- and why 500? => That is about one epoch of this data.

# Implement a new export command that writes all notes as Markdown files. | src/export.rs
  => The command is there: notes export DIR.
- it should not overwrite files that are there | src/export.rs => It refuses and names the file.
- add a --force option then | src/export.rs => Added.
- Perfect. Commit that, please. => Committed.
# Rename the crate from quill to inkwell everywhere. | Cargo.toml, src/main.rs
  => Renamed in 14 files, everything builds.
- the README still says quill | README.md => Fixed.
# I get a panic when I open an empty notebook: index out of bounds in editor.rs. | src/editor.rs
  => Fixed: an empty notebook has one empty line now.
- write a regression test | tests/editor.rs => Written, it passes.

# Review the changes on this branch for security problems.
  => Three findings: 1. the token is logged, 2. no limit on the body, 3. a weak hash.
- fix 1 and 3 | auth/token.py, auth/hash.py => Both are fixed.
- and 2? | auth/server.py => Bodies are limited to 1 MB now.
- do the tests still pass? => Yes, all 212 pass.
# Our Docker image is 1.8 GB. Make it smaller without changing what it does. | Dockerfile
  => It is 310 MB now, by a second stage.
- why is it still that big? => Most of it is the Python runtime and numpy.
- ok, leave it
# Create an endpoint that lists invoices by customer, with paging. | api/invoices.py
  => GET /customers/{id}/invoices pages by cursor.
- use the same cursor format as the orders endpoint | api/invoices.py => It uses the same format.

# Give me a plan for splitting the monolith's billing part into a service.
  => The plan has four steps. Do you want details on one of them?
- what about shared tables? => They stay with the monolith at first; the service reads them by an API.
- write that down in docs/billing-split.md | docs/billing-split.md => Written.
# Bump all dependencies to their latest minor versions and fix what breaks. | package.json
  => All are up to date; two call sites changed.
- eslint complains now | src/index.ts => Fixed.
# Next, translate the settings page into German and French. | i18n/de.json, i18n/fr.json => Both are translated.
- "Konto" instead of "Account" in German | i18n/de.json => Changed.

# Make the enemies in level 3 faster by a third. | game/level3.gd => Their speed is 160 now.
- too fast, try a quarter | game/level3.gd => 150 now.
# Add a pause menu with resume, options and quit. | game/menu.gd => The menu opens with Escape.
- the music should stop while it is open | game/menu.gd => It pauses the music bus.
- and the timer as well | game/menu.gd => The timer stops too.
# There's a bug in the save system: loading an old save loses the inventory. | game/save.gd
  => Old saves are migrated on load now.
- can you check that on the save in tests/old.sav? => It loads with all 12 items.
# Let's write the store page text: two sentences and five bullet points. | store/page.md => Here it is.
- shorter | store/page.md => Shortened.

# Write Terraform for a bucket with versioning and a lifecycle rule of 90 days. | infra/bucket.tf
  => The bucket is defined.
- plan shows a diff on every run | infra/bucket.tf => The rule had no id; it is stable now.
# The alert for disk space fired all night. Raise the threshold to 90 % and wait for ten minutes. | alerts/disk.yml
  => Changed.
- same for the staging cluster | alerts/disk-staging.yml => Changed there, too.
# How do we rotate the database password? => There is a runbook in docs/rotate.md; it takes three steps.
- is step 2 automated anywhere? => No, it is done by hand.
# Add a make target that lints all YAML files. | Makefile => make lint-yaml runs yamllint.
- it should fail on warnings | Makefile => It is strict now.

# Fix the typo in the welcome mail: recieve. | mail/welcome.txt => Fixed.
# Update the copyright year in the footer to the current one. | web/footer.html => Updated.
# Delete the unused function parseLegacy and its tests. | src/legacy.js => Deleted.
- anything else unused there? => Two constants.
- remove them too | src/legacy.js => Removed.
# Our sitemap misses the blog posts. Generate it from the content folder. | scripts/sitemap.js
  => It lists all posts now.
- sort by date | scripts/sitemap.js => Sorted.

# Refactor the order service so that pricing lives in a class of its own. | order/pricing.kt, order/service.kt
  => Pricing is a class now.
- name it PriceCalculator | order/pricing.kt => Renamed.
- run the tests => All pass.
- the discount tests were skipped, why? => They need a database; there is none here.
# Write a script that imports customers from a CSV export of the old shop. | tools/import_customers.py
  => The script imports and reports what it skipped.
- skip rows without an e-mail | tools/import_customers.py => It does.
- how many would be skipped in data/old.csv? => 41 of 3,120.
# I want push notifications when an order ships. Start with the server side. | push/server.kt
  => The server sends them when the state changes.
- now the app side | app/Notifications.swift => The app asks for permission and shows them.
"""
