// SPDX-License-Identifier: Apache-2.0
/*
 * Parallel scanner: reads a folder's whole tree into memory with several threads, then tells which
 * folders are the biggest and which kinds of files fill them.
 *
 *     scanner [FOLDER [THREADS]]          (default: the current folder, one thread per processor)
 *
 * It is the program that `make demo` profiles, so it uses memory as real programs do: a tree of
 * nodes with strings and vectors that lives to the end, a queue through which blocks pass from one
 * thread to another, per-thread hash maps that are merged and dropped, and paths that are built and
 * thrown away for each folder. Symbolic links are not followed; what cannot be read is counted.
 *
 * Threads: the queue's mutex guards the queue alone. A node is written by the one worker that took
 * it from the queue, and read by others only after all workers have been joined.
 */
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace
{

struct File {
    std::string name;
    std::uint64_t bytes;
};

struct Folder {
    std::string name;
    Folder *parent = nullptr;
    std::vector<File> files;
    std::vector<std::unique_ptr<Folder>> folders;
    std::uint64_t total_bytes = 0; // of the whole subtree, set by sum_up()
    std::uint64_t total_files = 0;
};

struct Kind {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
};
using Histogram = std::unordered_map<std::string, Kind>; // by extension, ".so"

// Folders that wait for a worker. Done when it is empty and no worker is inside a folder.
class WorkQueue
{
  public:
    void put(Folder *folder)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        waiting_.push_back(folder);
        unfinished_++;
        changed_.notify_one();
    }

    // The next folder, or nullptr when all work is done. finish() must follow each folder.
    Folder *take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return !waiting_.empty() || unfinished_ == 0; });
        if (waiting_.empty())
            return nullptr;
        Folder *folder = waiting_.front();
        waiting_.pop_front();
        return folder;
    }

    void finish()
    {
        std::lock_guard<std::mutex> guard(mutex_);
        if (--unfinished_ == 0)
            changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Folder *> waiting_;
    std::size_t unfinished_ = 0;
};

fs::path path_of(const Folder &folder)
{
    return folder.parent ? path_of(*folder.parent) / folder.name : fs::path(folder.name);
}

std::string extension_of(const std::string &name)
{
    std::string extension = fs::path(name).extension().string();
    return extension.empty() ? "(none)" : extension;
}

class Worker
{
  public:
    explicit Worker(WorkQueue &queue) : queue_(queue)
    {
    }

    void run()
    {
        while (Folder *folder = queue_.take()) {
            read_folder(*folder);
            queue_.finish();
        }
    }

    Histogram kinds;
    std::uint64_t unreadable = 0;

  private:
    void read_folder(Folder &folder)
    {
        std::error_code error;
        fs::directory_iterator entry(path_of(folder), error);
        for (; !error && entry != fs::directory_iterator(); entry.increment(error))
            add_entry(folder, *entry);
        if (error)
            unreadable++;
    }

    void add_entry(Folder &folder, const fs::directory_entry &entry)
    {
        std::error_code error;
        const fs::file_status status = entry.symlink_status(error);
        if (!error && fs::is_directory(status)) {
            auto child = std::make_unique<Folder>();
            child->name = entry.path().filename().string();
            child->parent = &folder;
            queue_.put(child.get());
            folder.folders.push_back(std::move(child));
        } else if (!error && fs::is_regular_file(status)) {
            add_file(folder, entry, error);
        }
        if (error)
            unreadable++;
    }

    void add_file(Folder &folder, const fs::directory_entry &entry, std::error_code &error)
    {
        const std::uint64_t bytes = entry.file_size(error);
        if (error)
            return;
        std::string name = entry.path().filename().string();
        Kind &kind = kinds[extension_of(name)];
        kind.files++;
        kind.bytes += bytes;
        folder.files.push_back({std::move(name), bytes});
    }

    WorkQueue &queue_;
};

void sum_up(Folder &folder, std::vector<const Folder *> &all)
{
    all.push_back(&folder);
    folder.total_files = folder.files.size();
    for (const File &file : folder.files)
        folder.total_bytes += file.bytes;
    for (const auto &child : folder.folders) {
        sum_up(*child, all);
        folder.total_bytes += child->total_bytes;
        folder.total_files += child->total_files;
    }
}

double mib(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / (1 << 20);
}

void print_biggest(std::vector<const Folder *> folders)
{
    const std::size_t shown = std::min<std::size_t>(10, folders.size());
    std::partial_sort(
        folders.begin(), folders.begin() + static_cast<std::ptrdiff_t>(shown), folders.end(),
        [](const Folder *a, const Folder *b) { return a->total_bytes > b->total_bytes; });
    std::printf("\n%12s %10s  biggest folders\n", "MiB", "files");
    for (std::size_t i = 0; i < shown; i++)
        std::printf("%12.1f %10llu  %s\n", mib(folders[i]->total_bytes),
                    static_cast<unsigned long long>(folders[i]->total_files),
                    path_of(*folders[i]).c_str());
}

void print_kinds(const std::vector<std::unique_ptr<Worker>> &workers)
{
    Histogram merged;
    for (const auto &worker : workers) {
        for (const auto &[extension, kind] : worker->kinds) {
            merged[extension].files += kind.files;
            merged[extension].bytes += kind.bytes;
        }
    }
    std::vector<std::pair<std::string, Kind>> rows(merged.begin(), merged.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto &a, const auto &b) { return a.second.bytes > b.second.bytes; });
    rows.resize(std::min<std::size_t>(10, rows.size()));
    std::printf("\n%12s %10s  kinds of files\n", "MiB", "files");
    for (const auto &[extension, kind] : rows)
        std::printf("%12.1f %10llu  %s\n", mib(kind.bytes),
                    static_cast<unsigned long long>(kind.files), extension.c_str());
}

} // namespace

int main(int argc, char **argv)
{
    Folder root;
    root.name = argc > 1 ? argv[1] : ".";
    const unsigned processors = std::max(2U, std::thread::hardware_concurrency());
    const unsigned long asked = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : processors;
    const unsigned long count = std::clamp<unsigned long>(asked, 1, 256);

    WorkQueue queue;
    queue.put(&root);
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<std::thread> threads;
    for (unsigned long i = 0; i < count; i++) {
        workers.push_back(std::make_unique<Worker>(queue));
        threads.emplace_back(&Worker::run, workers.back().get());
    }
    for (std::thread &thread : threads)
        thread.join();

    std::vector<const Folder *> all;
    sum_up(root, all);
    std::uint64_t unreadable = 0;
    for (const auto &worker : workers)
        unreadable += worker->unreadable;
    std::printf("%s: %llu files in %zu folders, %.1f MiB, %llu unreadable, %lu threads\n",
                root.name.c_str(), static_cast<unsigned long long>(root.total_files), all.size(),
                mib(root.total_bytes), static_cast<unsigned long long>(unreadable), count);
    print_biggest(all);
    print_kinds(workers);
    return root.total_files == 0 && unreadable > 0 ? 1 : 0;
}
