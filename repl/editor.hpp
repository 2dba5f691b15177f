#pragma once
// Where the prompt reads what is typed: a line editor with history, colours and completion, or plain lines.
#include <memory>
#include <string>

#include "talc/talc.hpp"

namespace talc::repl {

enum class Input { Text, Cancelled, End };

class Editor {
  public:
    // The engine may be another one at each read: it is asked for completion and colours while reading only.
    Editor();
    ~Editor();
    // A whole block at a terminal that can be drawn on, else a line.
    Input read(Engine& engine, const std::string& prompt, std::string& text);
    void remember(const std::string& block);

  private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace talc::repl
