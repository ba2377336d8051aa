/* libFuzzer over CSV files: the input is a file, loaded once with inferred types and once into a
 * table of given ones. Nothing may crash, leak or hang. */
#include "smelt.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/smelt-fuzz-%d.csv", (int)getpid());
    FILE *f = fopen(path, "wb");
    if (!f) return 0;
    fwrite(data, 1, size, f);
    fclose(f);
    smelt_db *db = NULL;
    smelt_settings s = {.tier = SMELT_TIER_ROW, .threads = 1, .memory_limit = (size_t)256 << 20};
    if (smelt_db_open(&s, &db, NULL) == SMELT_OK) {
        smelt_csv rejecting = {.reject_table = "rejected", .delimiter = size % 2 ? ',' : ';'};
        smelt_result *r = NULL;
        smelt_load_csv(db, "inferred", path, NULL, NULL, NULL);
        smelt_run(db, "CREATE TABLE given (a int, b text, c numeric(9,2))", NULL, NULL, NULL);
        smelt_load_csv(db, "given", path, &rejecting, NULL, NULL);
        smelt_run(db, "SELECT * FROM inferred", NULL, &r, NULL);
        if (r) smelt_result_digest(r);
        smelt_result_free(r);
        smelt_db_close(db);
    }
    unlink(path);
    return 0;
}
